package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	ray "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trainyard/trainyard/test/cluster/controlplane"
)

// TestCluster goes once through everything that a cluster of tests is for.
func TestCluster(t *testing.T) {
	p := start(t, build(t), "-dir", filepath.Join(t.TempDir(), "state"))
	kube, err := kubernetes.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	rays, err := ray.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	p.post(t, "/nodes", node("system", "3920m", "14848Mi", nil))
	p.post(t, "/nodes?count=2", node("gpu-worker", "47", "180Gi", corev1.ResourceList{
		"nvidia.com/gpu": resource.MustParse("4"), "vpc.amazonaws.com/efa": resource.MustParse("1"),
	}))
	c := lab{t, kube, rays}

	c.create(rayCluster("first", 2))
	c.untilReady("first", 2)
	c.bound("first")
	checkForward(t, p.config(t), c.head("first"))

	c.scale("first", 3)
	c.untilUnschedulable("first", "2 Insufficient nvidia.com/gpu, 2 Insufficient vpc.amazonaws.com/efa")

	p.post(t, "/restart/apiserver", nil)
	p.post(t, "/freeze/apiserver", nil)
	p.post(t, "/start/apiserver", nil)
	c.scale("first", 2)
	c.untilReady("first", 2)

	p.post(t, "/stop/operator", nil)
	if running := p.processes(t, "kuberay-operator"); len(running) > 0 {
		t.Errorf("the operator was stopped, and runs:\n%s", strings.Join(running, "\n"))
	}
	c.create(rayCluster("second", 0))
	p.post(t, "/start/operator", nil)
	c.untilReady("second", 0)

	checkUsers(t, p)
	if running := p.processes(t, ""); len(running) != 6 {
		t.Errorf("%d processes are seen while the cluster runs, want 6:\n%s", len(running), strings.Join(running, "\n"))
	}
	p.end(t)
	if left := p.processes(t, ""); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

// checkUsers makes users and sees what they may do.
func checkUsers(t *testing.T, p *program) {
	t.Helper()
	list := func(u controlplane.User) error {
		config, err := clientcmd.RESTConfigFromKubeConfig(p.post(t, "/users", u))
		if err != nil {
			t.Fatal(err)
		}
		kube, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = kube.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := list(controlplane.User{Name: "guest"}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights lists pods: %v", err)
	}
	if err := list(controlplane.User{Name: "late", NotAfter: time.Now().Add(-time.Minute)}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a user whose certificate has ended lists pods: %v", err)
	}
	if err := list(controlplane.User{Name: "boss", Groups: []string{"system:masters"}}); err != nil {
		t.Errorf("an administrator lists pods: %v", err)
	}
}

// TestKilled kills the program, and then the parent of another, as nothing can
// be caught, and looks at what is left.
func TestKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the processes of a program that was killed")
	}
	binary := build(t)
	p := start(t, binary)
	kill(t, p)
	eventually(t, func(context.Context) string { return strings.Join(p.processes(t, ""), "\n") })

	orphan := start(t, "sh", "-c", `"$0"; :`, binary)
	if _, err := os.Stat(filepath.Dir(p.kubeconfig)); !os.IsNotExist(err) {
		t.Errorf("the next program leaves the folder of one that was killed: %v", err)
	}
	kill(t, orphan)
	eventually(t, func(context.Context) string {
		left := orphan.processes(t, "")
		if _, err := os.Stat(filepath.Dir(orphan.kubeconfig)); !os.IsNotExist(err) {
			left = append(left, "its folder")
		}
		return strings.Join(left, "\n")
	})
}

func kill(t *testing.T, p *program) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}
