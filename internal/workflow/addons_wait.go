package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainyard/trainyard/internal/addons"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
	"github.com/trainyard/trainyard/internal/wait"
)

// addonInterval is the pause between two looks at what an add-on does: a look
// is a list of all nodes.
const addonInterval = 2 * time.Second

// await waits until an add-on that was installed does what it is for, and says
// so. It gives up at once where a pod waits for what does not come by itself.
func (in installing) await(ctx context.Context, name addons.Name) (string, error) {
	var seen standing
	err := wait.For(ctx, wait.Options{Interval: addonInterval, Timeout: in.req.Timeout}, func(context.Context) (bool, string, error) {
		var err error // by the outer ctx: one look is whole, however short the time
		if seen, err = in.stand(ctx, name); err != nil {
			return false, "", err
		}
		if !seen.works() {
			in.Story.Update(seen.String())
		}
		return seen.works(), "", seen.hopeless()
	})
	if err == nil {
		return seen.String(), nil
	}
	if wait.IsTimeout(err) {
		err = fmt.Errorf("not within %s: %s", in.req.Timeout, seen.why())
		err = remedies(fault.WithHint("It stays installed; the same command goes on waiting, and trainyard addons status shows how it stands.", err), seen.status.Lacking)
	}
	return "", fmt.Errorf("waiting for the %s: %w", name.Title(), err)
}

// standing is how an add-on of ours stands at one moment.
type standing struct {
	status AddonStatus
	pods   addons.Pods
	served bool // the cluster serves KubeRay's API
}

func (in installing) stand(ctx context.Context, name addons.Name) (standing, error) {
	state, err := kubernetes.LookAround(ctx, in.cluster)
	if err != nil {
		return standing{}, err
	}
	if err := errors.Join(state.Nodes.Err, state.DaemonSets.Err, state.Operators.Err, state.Groups.Err); err != nil {
		return standing{}, err
	}
	pods, err := addons.PodsOf(ctx, in.cluster, name)
	served := slices.Contains(state.Groups.Value["ray.io"], "v1")
	return standing{statusOf(state, []addons.Name{name})[0], pods, served}, err
}

// works tells whether there is nothing left to wait for.
func (s standing) works() bool {
	if s.status.Name == addons.KubeRay {
		return s.served && s.status.Wanted > 0 && s.status.Ready >= s.status.Wanted && s.pods.Ready == s.pods.All
	}
	return s.status.Offered == s.status.Nodes
}

func (s standing) hopeless() error {
	for _, pod := range s.pods.Waiting {
		if pod.Outlook == kube.Hopeless && !s.works() {
			err := errors.New(pod.String())
			if pod.Hint != "" {
				err = fault.WithHint(pod.Hint, err)
			}
			return err
		}
	}
	return nil
}

// String is how far it is.
func (s standing) String() string {
	switch {
	case s.status.Name == addons.KubeRay && !s.served:
		return "the cluster does not serve ray.io/v1 yet"
	case s.status.Name == addons.KubeRay:
		return fmt.Sprintf("%d of %s ready", s.pods.Ready, plural(max(s.pods.All, 1), "pod"))
	case s.status.Nodes == 0:
		return "no node has " + s.status.devices() + " now; it goes to those that come"
	}
	text := s.status.offered()
	if len(s.status.Down) > 0 {
		text += fmt.Sprintf("; %s down", plural(len(s.status.Down), "node"))
	}
	return text
}

// why adds what is known of the reasons.
func (s standing) why() string {
	parts := []string{s.String()}
	for _, pod := range s.pods.Waiting {
		parts = append(parts, pod.String())
	}
	for _, f := range s.status.Lacking {
		parts = append(parts, lackText(f))
	}
	return strings.Join(parts, "; ")
}
