// Package controlplane runs a Kubernetes on this machine: etcd, the real control
// plane, the real KubeRay operator, and kwok, which plays the kubelets of fake
// nodes. Everything listens on free ports of loopback and dies with the program.
//
// Where real nodes are asked for, each is containerd and a kubelet in namespaces
// of their own, in a network that only this machine has a cable to, with CoreDNS;
// see node.sh. The apiserver then listens on this machine's end of the cable.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trainyard/trainyard/test/cluster/binaries"
	"github.com/trainyard/trainyard/test/cluster/machine"
	"github.com/trainyard/trainyard/test/cluster/spawn"
)

// Options of a cluster.
type Options struct {
	Binaries    binaries.Dirs
	Dir         string       // an empty folder: keys, logs, etcd's data
	OperatorEnv []string     // NAME=VALUE for the KubeRay operator; see DummyPods
	Nodes       int          // real ones, which need root and Linux
	Image       string       // archive of the image that they have, which also holds pods together
	ImageName   string       // of that image
	Tell        func(string) // is told when a part ends by itself
}

// DummyPods is the environment of an operator whose pods have no Ray in them:
// it adds no container that waits for Ray, and no probes that ask Ray.
var DummyPods = []string{"ENABLE_INIT_CONTAINER_INJECTION=false", "ENABLE_PROBES_INJECTION=false"}

// A Cluster is a running Kubernetes.
type Cluster struct {
	options Options
	host    string // address that the apiserver listens on
	ports   ports
	pki     *pki
	spawner spawn.Spawner
	parts   map[string]*part
	network *machine.Network // of real nodes; nil where there are none
	cgroup  machine.Cgroup   // of real nodes

	mu     sync.Mutex
	deaths []error // of parts that nobody stopped
}

// Start starts a cluster and returns it when all of it works. Where that fails
// nothing runs.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options, host: loopback, spawner: spawn.New(), parts: map[string]*part{}}
	err := c.prepare(ctx)
	if err == nil {
		err = c.startAll(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// prepare writes what the parts read.
func (c *Cluster) prepare(ctx context.Context) error {
	free, err := freePorts(ctx, 7)
	if err != nil {
		return err
	}
	c.ports = ports{free[0], free[1], free[2], free[3], free[4], free[5], free[6]}
	if c.options.Nodes > 0 {
		if err := c.plug(ctx); err != nil {
			return err
		}
	}
	if c.pki, err = newPKI(c.path("pki"), c.host); err != nil {
		return fmt.Errorf("making certificates: %w", err)
	}
	if err := os.MkdirAll(c.path("logs"), 0o700); err != nil {
		return err
	}
	if err := c.writeAdmin(); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	c.makeParts()
	return c.makeNodes()
}

// startAll starts the parts in the order in which they need each other.
func (c *Cluster) startAll(ctx context.Context) error {
	if err := c.startParts(ctx, etcd, apiserver); err != nil {
		return err
	}
	config, err := c.Config()
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return c.startParts(inner, controllerManager, scheduler) })
	for name, set := range map[string]string{operator: c.options.Binaries.KubeRay, kwok: c.options.Binaries.Kwok} {
		group.Go(func() error {
			if err := installCRDs(inner, config, filepath.Join(set, "crds")); err != nil {
				return err
			}
			return c.startParts(inner, name)
		})
	}
	if c.options.Nodes > 0 {
		group.Go(func() error { return c.startNodes(inner) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return usable(ctx, config)
}

func (c *Cluster) startParts(ctx context.Context, names ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		group.Go(func() error { return c.parts[name].start(ctx) })
	}
	return group.Wait()
}

// usable waits until pods can be made in the namespace default: the last thing
// that the controllers of a new cluster do for it.
func usable(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, healthInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// Close ends everything and returns an error for each part that had ended
// before. Closing twice is fine.
func (c *Cluster) Close() error {
	var all sync.WaitGroup
	for _, p := range c.parts {
		all.Go(p.stop)
	}
	all.Wait()
	err := c.cgroup.Remove(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(append(c.deaths, err)...)
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.path("admin.kubeconfig") }

// server is the URL of the apiserver.
func (c *Cluster) server() string {
	return "https://" + net.JoinHostPort(c.host, strconv.Itoa(c.ports.apiserver))
}

// Config returns the administrator's access, without client-side throttling:
// tests make many objects at once.
func (c *Cluster) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

func (c *Cluster) died(err error) {
	c.options.Tell(err.Error())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaths = append(c.deaths, err)
}

func (c *Cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.options.Dir}, elements...)...)
}
