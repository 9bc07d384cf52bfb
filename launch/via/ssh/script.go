package ssh

import (
	"maps"
	"slices"
	"strings"

	"gomx/launch"
)

// bootstrap is the command on the host. It reads the lines of a script from standard input, one
// character at a time so that the signals behind it stay there, and runs the script. The login
// shell of the host sees text in single quotes, without a newline.
const bootstrap = `exec sh -c 'exec 3<&0; n=$(printf "\nx"); n=${n%x}; s=; ` +
	`while IFS= read -r l <&3; do case $l in "` + endOfScript + `") eval "$s"; exit 75;; esac; ` +
	`s="$s$l$n"; done; exit 75'`

// endOfScript is the line after the script.
const endOfScript = "#end"

// supervise is the last part of the script: it runs "$@" and the signals that come by descriptor 3.
// The folder $keys is empty text if there are no keys. When the launcher has died, the subshell does
// its work to the end, because it ignores the signal that ends it otherwise.
const supervise = `
end() { kill -"$1" -$p || kill -"$1" $p; }
setsid "$@" 3<&- </dev/null &
p=$!
(
	while IFS= read -r l <&3; do end "$l"; done
	trap "" TERM
	end TERM
	i=0
	while kill -0 -$p && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done
	end KILL
	[ -z "$scratch" ] || rm -rf "$scratch"
	[ -z "$keys" ] || rm -rf "$keys"
) >/dev/null 2>&1 &
w=$!
exec 3<&-
wait $p
c=$?
exec 2>/dev/null
kill -TERM $w
kill -KILL -$p
[ -z "$keys" ] || rm -rf "$keys"
exit $c
`

// script returns the script that runs a process in a working directory. scratch is a folder that
// it makes, and removes if the launcher dies; empty: none.
func script(p launch.Process, cwd, scratch string) string {
	var s strings.Builder
	line := func(parts ...string) {
		for _, part := range parts {
			s.WriteString(part)
		}
		s.WriteByte('\n')
	}
	line("cd ", quote(cwd), " || exit 64")
	for _, v := range p.Env {
		if name, value, ok := strings.Cut(v, "="); ok {
			line("export ", name, "=", quote(value))
		}
	}
	line("scratch=", quote(scratch), " keys=")
	line(`[ -z "$GOMX_DIR" ] || mkdir -p -m 700 "$GOMX_DIR" || exit 64`)
	line(`[ -z "$scratch" ] || [ -O "$scratch" ] || exit 64`)
	if len(p.Keys) > 0 {
		line("u=$(umask)")
		line("umask 077")
		line(`keys=$(mktemp -d "${TMPDIR:-/tmp}/gomx-keys-XXXXXX") || exit 75`)
		for _, name := range slices.Sorted(maps.Keys(p.Keys)) {
			line("printf %s ", quote(string(p.Keys[name])), ` > "$keys"/`, quote(name),
				" || exit 75")
		}
		line(`export GOMX_KEYS="$keys"`)
		line(`umask "$u"`)
	}
	s.WriteString("set --")
	for _, arg := range p.Program {
		s.WriteString(" " + quote(arg))
	}
	s.WriteString(supervise)
	return s.String()
}

// quote returns text that a POSIX shell reads as one word.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
