// Package kube knows one Kubernetes cluster as one user reaches it: what its
// kubeconfig says, what its API server answers and why, what of ours is in it,
// why a pod is not ready, and how to reach a port of one.
//
// It reads no flags and no environment of trainyard's; credentials come as
// kubectl finds them, exec plugins and service accounts included.
package kube

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// dialTimeout is how long a server may take to accept a connection. An address
// behind a firewall or of a cluster that is gone often says nothing at all.
const dialTimeout = 10 * time.Second

// Manager is the field manager of what we apply, and what the server calls us in
// its logs.
const Manager = "trainyard"

// Access says which cluster, as whom, and where in it.
type Access struct {
	Kubeconfig string // value of --kubeconfig or KUBECONFIG, one file or a list of them; "" is ~/.kube/config, or in a pod its service account
	Context    string // "" is the kubeconfig's current context
	Namespace  string // "" is the context's namespace, or "default"

	// Transport, if not nil, is put around what carries requests to the API server,
	// for whoever counts them.
	Transport func(http.RoundTripper) http.RoundTripper
}

// A Cluster is a connection to one cluster as one user. Its client reads from
// the API server and caches nothing, and knows the types of Kubernetes itself,
// CustomResourceDefinitions and KubeRay's ray.io/v1. Errors of its methods say
// what is the matter in a user's words (see [Cluster.Explain]), and calls outlast
// a restart of the API server.
type Cluster struct {
	client.WithWatch
	Config    *rest.Config
	Context   string // its name in the kubeconfig; "" in a pod
	Namespace string // where what we make goes
	Server    string // URL of the API server

	raw      client.WithWatch // the client as it is, neither patient nor explaining
	answered atomic.Bool      // the server has answered a call, be it with an error
	patience time.Duration    // see try
	pause    time.Duration    // between two tries
	refusal  time.Duration    // see refusals
}

// Connect finds the cluster and prepares a client. It does not ask the server
// anything: a server that cannot be reached shows with the first call.
func Connect(access Access) (*Cluster, error) {
	found, err := find(access)
	if err != nil {
		return nil, err
	}
	quiet()
	config := rest.CopyConfig(found.config)
	config.UserAgent = Manager
	config.QPS = -1 // the server paces its clients
	config.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	config.WarningHandler = rest.NoWarnings{} // they are about manifests, which users do not write here
	config.Wrap(access.Transport)
	types, err := knownTypes()
	if err != nil {
		return nil, err
	}
	inner, err := client.NewWithWatch(config, client.Options{Scheme: types})
	if err != nil {
		return nil, fmt.Errorf("preparing a client for %s: %w", config.Host, err)
	}
	c := &Cluster{
		raw:       inner,
		Config:    config,
		Context:   found.context,
		Namespace: found.namespace,
		Server:    config.Host,
		patience:  patience,
		pause:     time.Second,
		refusal:   refusalPatience,
	}
	c.WithWatch = c.patient(inner)
	return c, nil
}

// quiet keeps client-go from writing to standard error: what it logs it returns
// as errors, too.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// knownTypes returns the types that a Cluster's client knows.
func knownTypes() (*runtime.Scheme, error) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme, rayv1.AddToScheme} {
		if err := add(types); err != nil {
			return nil, fmt.Errorf("registering types of Kubernetes: %w", err)
		}
	}
	return types, nil
}
