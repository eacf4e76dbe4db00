package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainyard/trainyard/internal/rayjob"
)

// jobs is how many jobs the dashboard remembers.
const jobs = 100

// dashboard answers as the dashboard of a Ray with so many workers and their
// head does: it says that all nodes are alive, and lists jobs that have ended.
// Pods of fake nodes have no Ray in them.
func dashboard(workers int) *httptest.Server {
	nodes := make([]rayjob.Node, workers+1)
	for i := range nodes {
		nodes[i] = rayjob.Node{
			ID: fmt.Sprintf("%056x", i), Name: fmt.Sprintf("node-%d", i), IP: fmt.Sprintf("10.0.%d.%d", i/256, i%256),
			IsHead: i == 0, State: "ALIVE", Resources: map[string]float64{"CPU": 160, "GPU": 8, "memory": 1 << 40},
		}
	}
	ended := make([]rayjob.Job, jobs)
	for i := range ended {
		ended[i] = rayjob.Job{SubmissionID: fmt.Sprintf("run-%d", i), Status: rayjob.Succeeded, Entrypoint: "python train.py", StartMillis: int64(i)}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v0/nodes", answer(map[string]any{"data": map[string]any{"result": map[string]any{"result": nodes}}}))
	mux.HandleFunc("GET /api/jobs/", answer(ended))
	return httptest.NewServer(mux)
}

func answer(value any) http.HandlerFunc {
	text, err := json.Marshal(value)
	return func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(text)
	}
}

// leadingTo makes the dashboard's port of every fake pod in a namespace lead to a
// server on this machine.
func leadingTo(address net.Addr, namespace string) (*unstructured.Unstructured, error) {
	host, text, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterPortForward",
		"metadata": map[string]any{"name": namespace},
		"spec": map[string]any{
			"selector": map[string]any{"matchNamespaces": []any{namespace}},
			"forwards": []any{map[string]any{
				"ports":  []any{int64(8265)},
				"target": map[string]any{"address": host, "port": port},
			}},
		},
	}}, err
}
