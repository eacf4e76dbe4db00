// Package control lets tests in other processes change a cluster over HTTP on
// loopback. A call returns when what it asks for has happened; an error comes as
// text, with a status of 400 or above.
//
//	POST /stop/{part}      kill etcd, apiserver, controller-manager, scheduler,
//	                       operator, kwok or dns; its data stays. A real node,
//	                       node-0 and so on, loses its power
//	POST /freeze/{part}    let it hang; of a real node containerd and the kubelet
//	                       hang, and its containers go on
//	POST /start/{part}     start or wake it again; 204 when it is healthy, a node
//	                       when it is ready
//	POST /restart/{part}   stop and start
//	GET  /logs/{part}      all that it has printed
//	POST /nodes?count=N    make fake nodes; the body is a Node in JSON
//	POST /users            make a user; the body is a User in JSON, the answer
//	                       a kubeconfig
package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainyard/trainyard/test/cluster/controlplane"
)

// Handler serves the interface for one cluster.
func Handler(cluster *controlplane.Cluster) http.Handler {
	c := control{cluster}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stop/{part}", done(c.stop))
	mux.HandleFunc("POST /freeze/{part}", done(c.freeze))
	mux.HandleFunc("POST /start/{part}", done(c.start))
	mux.HandleFunc("POST /restart/{part}", done(c.restart))
	mux.HandleFunc("POST /nodes", done(c.nodes))
	mux.HandleFunc("POST /users", c.users)
	mux.HandleFunc("GET /logs/{part}", c.logs)
	return mux
}

type control struct{ cluster *controlplane.Cluster }

// done answers 204 where an action works.
func done(action func(context.Context, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := action(r.Context(), r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (c control) stop(_ context.Context, r *http.Request) error {
	return c.cluster.StopPart(r.PathValue("part"))
}

func (c control) freeze(_ context.Context, r *http.Request) error {
	return c.cluster.FreezePart(r.PathValue("part"))
}

func (c control) start(ctx context.Context, r *http.Request) error {
	return c.cluster.StartPart(ctx, r.PathValue("part"))
}

func (c control) restart(ctx context.Context, r *http.Request) error {
	if err := c.stop(ctx, r); err != nil {
		return err
	}
	return c.start(ctx, r)
}

func (c control) nodes(ctx context.Context, r *http.Request) error {
	count := 0
	if text := r.URL.Query().Get("count"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil || count < 1 {
			return fmt.Errorf("count %q is not a positive number", text)
		}
	}
	var node corev1.Node
	if err := decode(r, &node); err != nil {
		return err
	}
	return c.cluster.AddNodes(ctx, &node, count)
}

func (c control) users(w http.ResponseWriter, r *http.Request) {
	var user controlplane.User
	err := decode(r, &user)
	var kubeconfig []byte
	if err == nil {
		kubeconfig, err = c.cluster.KubeconfigFor(user)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(kubeconfig)
}

func (c control) logs(w http.ResponseWriter, r *http.Request) {
	path, err := c.cluster.Log(r.PathValue("part"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	http.ServeFile(w, r, path)
}

// decode reads the body strictly: a misspelt field is an error.
func decode(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	return nil
}
