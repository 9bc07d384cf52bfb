// Package k8s renders a job for Kubernetes: an Indexed Job, whose pods are the scheduler, the
// servers and the workers in the order of their indices, a headless service, which gives the pods
// stable names, and a Secret with the keys of their connections. The package renders text only; it
// never speaks to a cluster.
//
//	r, err := k8s.Render(k8s.Config{Name: "mnist", Image: "registry/gomx:1", Workers: 3, Servers: 2, …})
//	_, err = r.WriteTo(os.Stdout)       // one YAML stream for kubectl apply -f -
//	err = r.WriteFolder("mnist")        // a folder for kubectl apply -k
package k8s
