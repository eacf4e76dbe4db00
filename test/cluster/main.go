// Cluster runs a command beside a real Kubernetes that lives as long as the
// command does. Tests that need one are run by it:
//
//	go run -C test/cluster . -- go test ./internal/kube
//	go run -C test/cluster . -nodes 3 -- go test ./test/e2e  # real nodes; as root
//
// The command runs in the root of the repository, with these variables:
//
//	TRAINYARD_TEST_KUBECONFIG  the administrator's kubeconfig
//	TRAINYARD_TEST_CONTROL     URL of the interface of package control: fake
//	                           nodes, users with fewer rights, parts that stop
//	TRAINYARD_TEST_IMAGE       with -nodes: an image that every node has, in
//	                           which Ray runs where these are mounted
//	TRAINYARD_TEST_MOUNTS      with -nodes: folders of this machine, with colons
//	                           between them, to be mounted where they are
//	TRAINYARD_TEST_PYTHON      with -nodes: the interpreter that is there, with Ray
//
// and finds kubectl on its PATH, with -nodes KubeRay's plugin for it, too.
//
// Without a command it prints the variables once the cluster works, as a shell
// reads them, and keeps it until its standard input ends or it is interrupted.
//
// The first time it builds the programs (see package binaries). Whatever becomes
// of the command, the cluster is ended, and a part that ended by itself makes
// the program fail. It ends with its parent; killed, it leaves no process, on
// Linux, and the next one removes its folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/trainyard/trainyard/test/cluster/binaries"
	"github.com/trainyard/trainyard/test/cluster/cache"
	"github.com/trainyard/trainyard/test/cluster/control"
	"github.com/trainyard/trainyard/test/cluster/controlplane"
	"github.com/trainyard/trainyard/test/cluster/image"
)

// stopPatience is how long a command that was interrupted may take to tidy up.
const stopPatience = time.Minute

func main() {
	runtime.LockOSThread() // see endWithUs
	buildOnly := flag.Bool("build", false, "build what the cache lacks, start nothing")
	nodes := flag.Int("nodes", 0, "real nodes: one for what is not training, the others with GPUs, so they say")
	dir := flag.String("dir", "", "empty folder for keys, data and logs, which is kept (a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, *buildOnly, *nodes, *dir, flag.Args()); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode()) // the command has said why
		}
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, buildOnly bool, nodes int, dir string, argv []string) error {
	if err := endWithParent(); err != nil {
		return err
	}
	if err := checkNodes(nodes); err != nil {
		return err
	}
	cacheDir, err := cache.Dir()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	pins := filepath.Join(here, "pins")
	if _, err := os.Stat(pins); err != nil {
		return fmt.Errorf("finding what to build: %w; start it with go run -C test/cluster", err)
	}
	dirs, err := binaries.Ensure(ctx, cacheDir, pins, nodes > 0, tell)
	if err != nil {
		return err
	}
	layer := ""
	if nodes > 0 {
		if layer, err = image.Layer(ctx, cacheDir, tell); err != nil {
			return fmt.Errorf("making an image: %w", err)
		}
	}
	if buildOnly {
		return nil
	}
	state, remove, err := stateDir(filepath.Join(cacheDir, "running"), dir)
	if err != nil {
		return err
	}
	defer remove()
	options := controlplane.Options{Binaries: dirs, Dir: state, OperatorEnv: controlplane.DummyPods, Tell: tell}
	root := filepath.Join(here, "..", "..")
	var told []string
	if nodes > 0 {
		if told, err = withNodes(ctx, &options, nodes, root, layer); err != nil {
			return err
		}
	}
	clients := dirs.Kubectl
	if nodes > 0 {
		clients += string(os.PathListSeparator) + dirs.KubectlRay
	}
	return beside(ctx, options, func(ctx context.Context, variables []string) error {
		variables = append(variables, told...)
		path := "PATH=" + clients + string(os.PathListSeparator)
		if len(argv) == 0 {
			return hold(ctx, append(variables, path+"$PATH"))
		}
		return command(ctx, root, argv, append(variables, path+os.Getenv("PATH")))
	})
}

func tell(line string) { fmt.Fprintln(os.Stderr, "cluster:", line) }

// beside runs job while a cluster is up.
func beside(ctx context.Context, options controlplane.Options, job func(context.Context, []string) error) (err error) {
	began := time.Now()
	cluster, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	url, stop, err := serve(ctx, control.Handler(cluster))
	if err != nil {
		return err
	}
	defer stop()
	tell(fmt.Sprintf("kubernetes is up after %s", time.Since(began).Round(time.Second/10)))
	return job(ctx, []string{
		"TRAINYARD_TEST_KUBECONFIG=" + cluster.Kubeconfig(),
		"TRAINYARD_TEST_CONTROL=" + url,
	})
}

// serve answers HTTP on loopback until stop is called, which ends calls that are
// under way, too.
func serve(ctx context.Context, handler http.Handler) (url string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return "", nil, err
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = server.Serve(listener) }() // it ends with Close, and says so
	return "http://" + listener.Addr().String(), func() { cancel(); _ = server.Close() }, nil
}

// hold prints the variables and returns at the end of standard input, or on an
// interrupt, which is the way to end it from a terminal.
func hold(ctx context.Context, variables []string) error {
	fmt.Println("export " + strings.Join(variables, " "))
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	select {
	case <-ctx.Done():
	case <-ended:
	}
	return nil
}

// command runs argv in dir to its end. An interrupt reaches it from the
// terminal, or else from here.
func command(ctx context.Context, dir string, argv, variables []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), variables...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopPatience
	endWithUs(cmd)
	return cmd.Run()
}
