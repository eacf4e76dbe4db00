package controlplane

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/trainyard/trainyard/test/cluster/machine"
)

//go:embed node.sh
var nodeScript []byte

//go:embed node.tmpl
var nodeTemplates string

// kubeletHealth is the port on which each kubelet says, on its node's address,
// that it is well.
const kubeletHealth = "10248"

// nodeFiles are the templates that a node's folder is filled with.
var nodeFiles = []string{"containerd.toml", "kubelet.yaml", "cni/bridge.conflist", "resolv.conf"}

// devices are what nodes with GPUs say that they have, and do not.
const devices = `{"nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "1"}`

// A realNode is what its templates see.
type realNode struct {
	Name       string
	Number     int
	Dir        string
	Address    string
	HealthPort string
	DNS        string
	Cgroup     string
	ClientCA   string
	Image      string // name
	CNI        string // folder of programs
}

// plug makes what nodes need of the machine.
func (c *Cluster) plug(ctx context.Context) error {
	var err error
	if c.cgroup, err = machine.NewCgroup(ctx, c.options.Nodes); err != nil {
		return err
	}
	if c.network, err = machine.NewNetwork(c.options.Nodes); err != nil {
		return err
	}
	c.host = c.network.Host.String()
	return nil
}

// makeNodes writes what real nodes read and makes them, and the DNS server,
// parts of the cluster.
func (c *Cluster) makeNodes() error {
	if c.options.Nodes == 0 {
		return nil
	}
	if err := c.makeDNS(); err != nil {
		return err
	}
	for i := range c.options.Nodes {
		node := realNode{
			Name:       nodeName(i),
			Number:     i,
			Dir:        c.path(nodeName(i)),
			Address:    c.network.Node(i).String(),
			HealthPort: kubeletHealth,
			DNS:        c.network.DNS().String(),
			Cgroup:     c.cgroup.Node(i),
			ClientCA:   c.pki.path("ca.crt"),
			Image:      c.options.ImageName,
			CNI:        c.options.Binaries.CNI,
		}
		if err := node.write(c.options.Image); err != nil {
			return fmt.Errorf("writing the files of %s: %w", node.Name, err)
		}
		kubeconfig, err := c.KubeconfigFor(User{Name: "system:node:" + node.Name, Groups: []string{"system:nodes"}})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(node.Dir, "kubeconfig"), kubeconfig, 0o600); err != nil {
			return err
		}
		c.addNode(node)
	}
	return nil
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func (n realNode) write(image string) error {
	templates, err := template.New("").Parse(nodeTemplates)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(n.Dir, "cni"), 0o700); err != nil {
		return err
	}
	for _, name := range nodeFiles {
		var content bytes.Buffer
		if err := templates.ExecuteTemplate(&content, name, n); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(n.Dir, name), content.Bytes(), 0o600); err != nil {
			return err
		}
	}
	if err := os.Symlink(image, filepath.Join(n.Dir, "image.tar")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.Dir, "node.sh"), nodeScript, 0o700)
}

// labels are those by which pods find their nodes. Type and zone are what the
// devices would say: an Amazon EC2 g6.12xlarge has four GPUs and one EFA.
func (n realNode) labels() string {
	if n.Number == 0 {
		return "role=system"
	}
	return "role=gpu-worker," + corev1.LabelInstanceTypeStable + "=g6.12xlarge," + corev1.LabelTopologyZone + "=zone-a"
}

func (c *Cluster) addNode(n realNode) {
	c.addPart(n.Name, "http://"+net.JoinHostPort(n.Address, kubeletHealth)+"/healthz", []string{
		"PATH=" + strings.Join([]string{c.options.Binaries.Containerd, c.options.Binaries.Kubelet, os.Getenv("PATH")}, ":"),
	},
		filepath.Join(n.Dir, "node.sh"), n.Dir,
		"--kubeconfig=kubeconfig", "--hostname-override="+n.Name, "--node-ip="+n.Address, "--node-labels="+n.labels(),
	)
	p := c.parts[n.Name]
	p.spawn = c.network.StartApart
	p.settle = func(ctx context.Context, began time.Time) error { return c.settleNode(ctx, n, began) }
}

// startNodes starts the DNS server and the nodes, which are ready when it returns.
func (c *Cluster) startNodes(ctx context.Context) error {
	if err := c.lowerRequests(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for name := range c.parts {
		if name == dns || c.parts[name].settle != nil {
			group.Go(func() error { return c.startParts(ctx, name) })
		}
	}
	return group.Wait()
}

// settleNode waits until a node that began at a time is ready, and gives it its
// devices.
func (c *Cluster) settleNode(ctx context.Context, n realNode, began time.Time) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := untilReadySince(ctx, client, n.Name, began); err != nil {
		return fmt.Errorf("waiting until the node is ready: %w", err)
	}
	if n.Number == 0 {
		return nil
	}
	patch := fmt.Sprintf(`{"status": {"capacity": %[1]s, "allocatable": %[1]s}}`, devices)
	_, err = client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}
