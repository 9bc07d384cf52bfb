package board

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
)

// cookie is the name of the cookie that keeps the token.
const cookie = "gomx-board"

// admit reports whether a request may be answered, and answers the others.
func (b *Board) admit(w http.ResponseWriter, r *http.Request) bool {
	if b.cfg.Token == "" {
		if Loopback(r.Host) {
			return true
		}
		http.Error(w, "the board without a token answers requests to localhost alone, found "+
			r.Host, http.StatusForbidden)
		return false
	}
	if given := r.URL.Query().Get("token"); given != "" {
		if !b.same(given) {
			http.Error(w, "wrong token", http.StatusForbidden)
			return false
		}
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: given, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode})
		if r.URL.Path == "/" { // hides the token from the address bar
			http.Redirect(w, r, (&url.URL{Path: "/"}).String(), http.StatusSeeOther)
			return false
		}
		return true
	}
	if c, err := r.Cookie(cookie); err == nil && b.same(c.Value) {
		return true
	}
	http.Error(w, "the board wants its token: open the address that gomx board has printed",
		http.StatusForbidden)
	return false
}

// same compares a token in constant time.
func (b *Board) same(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(b.cfg.Token)) == 1
}

// Loopback reports whether an address, with or without a port, is a name of the loopback.
func Loopback(addr string) bool {
	host := addr
	if h, _, err := net.SplitHostPort(addr); err == nil {
		host = h
	}
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
