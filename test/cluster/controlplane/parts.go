package controlplane

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// serviceIP is the address of the service kubernetes, the first of serviceCIDR.
const (
	serviceCIDR = "10.96.0.0/16"
	serviceIP   = "10.96.0.1"
)

// The names of the parts.
const (
	etcd              = "etcd"
	apiserver         = "apiserver"
	controllerManager = "controller-manager"
	scheduler         = "scheduler"
	operator          = "operator"
	kwok              = "kwok"
)

// ports are those on which the parts listen.
type ports struct {
	etcd, etcdPeer, apiserver, controllerManager, scheduler, operator, kwok int
}

// makeParts describes every process. It is the whole configuration of the
// cluster: the defaults of Kubernetes, but for what is said here.
func (c *Cluster) makeParts() {
	p, bin := c.ports, c.options.Binaries
	c.addPart(etcd, httpURL(p.etcd)+"/health", nil,
		filepath.Join(bin.Etcd, "etcd"),
		"--data-dir="+c.path("etcd"),
		"--listen-client-urls="+httpURL(p.etcd), "--advertise-client-urls="+httpURL(p.etcd),
		"--listen-peer-urls="+httpURL(p.etcdPeer), "--initial-advertise-peer-urls="+httpURL(p.etcdPeer),
		"--initial-cluster=default="+httpURL(p.etcdPeer),
		"--unsafe-no-fsync", // nobody misses the data of a cluster that lost its power
		"--log-level=warn",
	)
	c.addPart(apiserver, c.server()+"/readyz", nil,
		filepath.Join(bin.Kubernetes, "kube-apiserver"),
		"--etcd-servers="+httpURL(p.etcd),
		"--bind-address="+c.host, "--secure-port="+strconv.Itoa(p.apiserver),
		"--endpoint-reconciler-type=none", // it refuses a loopback address, and pods need no endpoint
		"--service-cluster-ip-range="+serviceCIDR,
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--client-ca-file="+c.pki.path("ca.crt"),
		"--tls-cert-file="+c.pki.path("serving.crt"), "--tls-private-key-file="+c.pki.path("serving.key"),
		"--kubelet-client-certificate="+c.pki.path("admin.crt"), "--kubelet-client-key="+c.pki.path("admin.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.pki.path("sa.key"), "--service-account-signing-key-file="+c.pki.path("sa.key"),
	)
	c.addPart(controllerManager, httpsURL(p.controllerManager)+"/healthz", nil,
		filepath.Join(bin.Kubernetes, "kube-controller-manager"),
		"--kubeconfig="+c.Kubeconfig(), "--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=1000",
		"--bind-address="+loopback, "--secure-port="+strconv.Itoa(p.controllerManager),
		"--root-ca-file="+c.pki.path("ca.crt"),
		"--service-account-private-key-file="+c.pki.path("sa.key"),
		"--cluster-signing-cert-file="+c.pki.path("ca.crt"), "--cluster-signing-key-file="+c.pki.path("ca.key"),
	)
	c.addPart(scheduler, httpsURL(p.scheduler)+"/healthz", nil,
		filepath.Join(bin.Kubernetes, "kube-scheduler"),
		"--kubeconfig="+c.Kubeconfig(), "--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=1000",
		"--bind-address="+loopback, "--secure-port="+strconv.Itoa(p.scheduler),
	)
	c.addPart(operator, httpURL(p.operator)+"/healthz", c.options.OperatorEnv,
		filepath.Join(bin.KubeRay, "kuberay-operator"),
		"--kubeconfig="+c.Kubeconfig(),
		"--enable-leader-election=false", "--metrics-addr=0",
		"--health-probe-bind-address="+address(p.operator),
		"--use-kubernetes-proxy", // it runs beside the cluster, not in it
	)
	c.addPart(kwok, httpURL(p.kwok)+"/healthz", nil,
		filepath.Join(bin.Kwok, "kwok"),
		append(c.stageFlags(),
			"--kubeconfig="+c.Kubeconfig(),
			"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector="+FakeNode+"=fake",
			"--node-lease-duration-seconds=40",
			"--enable-crds=ClusterLogs,ClusterPortForward,Logs,PortForward", // what a kubelet would offer, as objects say
			"--server-address="+address(p.kwok), "--node-port="+strconv.Itoa(p.kwok), "--node-ip="+loopback,
			"--tls-cert-file="+c.pki.path("serving.crt"), "--tls-private-key-file="+c.pki.path("serving.key"),
		)...,
	)
}

// stageFlags names the files that say how fake nodes and pods live: each pod
// runs as soon as it has a node.
func (c *Cluster) stageFlags() []string {
	var flags []string
	for _, dir := range []string{"node", "heartbeat", "pod"} {
		files, _ := filepath.Glob(filepath.Join(c.options.Binaries.Kwok, "stages", dir, "*.yaml"))
		for _, file := range files {
			flags = append(flags, "--config="+file)
		}
	}
	return flags
}

func (c *Cluster) addPart(name, health string, env []string, program string, args ...string) {
	c.parts[name] = &part{
		name:   name,
		argv:   append([]string{program}, args...),
		env:    env,
		health: health,
		log:    c.path("logs", name+".log"),
		spawn:  c.spawner.Start,
		died:   c.died,
	}
}

// StartPart starts a part that was stopped or frozen and returns when it is healthy.
func (c *Cluster) StartPart(ctx context.Context, name string) error {
	p, err := c.part(name)
	if err != nil {
		return err
	}
	return p.start(ctx)
}

// StopPart kills a part, as a crash would, and returns when it has ended.
func (c *Cluster) StopPart(name string) error {
	p, err := c.part(name)
	if err != nil {
		return err
	}
	p.stop()
	return nil
}

// FreezePart lets a part hang until it is started or stopped.
func (c *Cluster) FreezePart(name string) error {
	p, err := c.part(name)
	if err != nil {
		return err
	}
	return p.freeze()
}

// Log returns the path of the file with all that a part has printed.
func (c *Cluster) Log(name string) (string, error) {
	p, err := c.part(name)
	if err != nil {
		return "", err
	}
	return p.log, nil
}

func (c *Cluster) part(name string) (*part, error) {
	if p, ok := c.parts[name]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("no part %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(c.parts)), ", "))
}
