package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/spelling"
)

// manyContexts is how many contexts an error lists at most.
const manyContexts = 10

// found is a cluster as a kubeconfig or a pod's service account describes it.
type found struct {
	config    *rest.Config
	context   string
	namespace string
}

// find reads the kubeconfig, or in a pod without one the service account.
func find(access Access) (found, error) {
	files := filepath.SplitList(access.Kubeconfig)
	if len(files) == 0 {
		files = []string{clientcmd.RecommendedHomeFile}
	}
	present, err := existing(files)
	if err != nil {
		return found{}, err
	}
	if len(present) > 0 {
		return inKubeconfig(present, access)
	}
	if access.Kubeconfig != "" {
		return found{}, fault.WithHint("check --kubeconfig and the environment variable KUBECONFIG",
			fmt.Errorf("reading kubeconfig: %s does not exist", quoted(files)))
	}
	return inPod(access, files[0])
}

// existing returns the files that exist. Like kubectl, it passes over those of
// a list that do not.
func existing(files []string) ([]string, error) {
	var present []string
	for _, file := range files {
		if file == "" {
			continue
		}
		switch _, err := os.Stat(file); {
		case err == nil:
			present = append(present, file)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("reading kubeconfig: %w", err)
		}
	}
	return present, nil
}

// inPod returns the cluster in whose pod this process runs.
func inPod(access Access, looked string) (found, error) {
	if access.Context != "" {
		return found{}, fmt.Errorf("looking for context %q: there is no kubeconfig at %q", access.Context, looked)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return found{}, fault.WithHint("name a kubeconfig with --kubeconfig or KUBECONFIG. For a cluster on EKS, this writes one: aws eks update-kubeconfig --name NAME",
			fmt.Errorf("finding a cluster: there is no kubeconfig at %q, and this process runs in no pod", looked))
	}
	if err != nil {
		return found{}, fmt.Errorf("reading the pod's service account: %w", err)
	}
	// Outside a kubeconfig, clientcmd knows the pod's own namespace.
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{}, &clientcmd.ConfigOverrides{}).Namespace()
	if err != nil {
		return found{}, fmt.Errorf("reading the pod's namespace: %w", err)
	}
	if access.Namespace != "" {
		namespace = access.Namespace
	}
	return found{config: config, namespace: namespace}, nil
}

// inKubeconfig returns the cluster of the context that was asked for, or of the
// current one.
func inKubeconfig(files []string, access Access) (found, error) {
	all, err := (&clientcmd.ClientConfigLoadingRules{Precedence: files, WarnIfAllMissing: false}).Load()
	if err != nil {
		return found{}, fmt.Errorf("reading kubeconfig: %w", err)
	}
	name, err := choose(all, access.Context, files)
	if err != nil {
		return found{}, err
	}
	if err := clientcmd.ConfirmUsable(*all, name); err != nil {
		return found{}, fmt.Errorf("using context %q of %s: %w", name, quoted(files), err)
	}
	overrides := &clientcmd.ConfigOverrides{}
	overrides.Context.Namespace = access.Namespace
	chosen := clientcmd.NewNonInteractiveClientConfig(*all, name, overrides, nil)
	config, err := chosen.ClientConfig()
	if err != nil {
		return found{}, fmt.Errorf("using context %q of %s: %w", name, quoted(files), err)
	}
	namespace, _, err := chosen.Namespace()
	if err != nil {
		return found{}, fmt.Errorf("reading the namespace of context %q: %w", name, err)
	}
	return found{config, name, namespace}, nil
}

// choose returns the name of the context to use.
func choose(all *api.Config, wanted string, files []string) (string, error) {
	names := slices.Sorted(maps.Keys(all.Contexts))
	name := wanted
	if name == "" {
		name = all.CurrentContext
	}
	switch {
	case all.Contexts[name] != nil:
		return name, nil
	case len(names) == 0:
		return "", fmt.Errorf("choosing a context: %s has none", quoted(files))
	case name == "":
		return "", fault.WithHint("choose one with --context, or for good: kubectl config use-context "+names[0],
			fmt.Errorf("choosing a context: %s names no current one; there are %s", quoted(files), list(names)))
	}
	err := fmt.Errorf("choosing a context: %s has no context %q; there are %s", quoted(files), name, list(names))
	if near := nearest(name, names); near != "" {
		err = fault.WithHint(fmt.Sprintf("did you mean --context %s?", near), err)
	}
	return "", err
}

// nearest returns the name that was meant: the one that contains what was typed,
// for the contexts of EKS are long and end in the name of the cluster that
// people know, or else the one that is spelt much like it. It returns "" where
// there is none.
func nearest(typed string, names []string) string {
	var containing []string
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), strings.ToLower(typed)) {
			containing = append(containing, name)
		}
	}
	if len(containing) == 1 {
		return containing[0]
	}
	return spelling.Nearest(typed, names)
}

// list names things for a sentence, and counts those that are too many.
func list(names []string) string {
	if len(names) > manyContexts {
		return fmt.Sprintf("%s and %d more", quoted(names[:manyContexts]), len(names)-manyContexts)
	}
	return quoted(names)
}

func quoted(names []string) string {
	marked := make([]string, len(names))
	for i, name := range names {
		marked[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(marked, ", ")
}
