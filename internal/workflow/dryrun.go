package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/shell"
	"github.com/trainyard/trainyard/internal/ui"
)

// Rehearsal says how far a Train that changes nothing goes.
type Rehearsal string

// The rehearsals. The last two run the preflight, and leave the rest to the
// server's own checks and admission.
const (
	RehearseClient Rehearsal = "client" // no cluster is asked
	RehearseServer Rehearsal = "server"
	RehearseDiff   Rehearsal = "diff" // as the server, to say what would change
)

// Rehearse does what Train would do, up to where it would change something, and
// returns what would be applied: the manifest, or its difference from what is
// there. On this machine nothing is applied.
func (w Workspace) Rehearse(ctx context.Context, req TrainRequest, how Rehearsal) (text string, err error) {
	t := &training{Workspace: w, cfg: req.Config}
	remote := t.cfg.Target == config.TargetKubernetes
	if !remote && how != RehearseClient {
		return "", fault.WithCode(fault.Usage, fault.WithHint("--target kubernetes runs it elsewhere; --dry-run=client says what would run here",
			errors.New("asking a server about a run on this machine: there is none")))
	}
	if err := t.check(ctx, req.Detach); err != nil {
		return "", err
	}
	t.Story.Begin("package")
	t.Story.Done(plural(t.pkg.Files, "file") + ", " + ui.Bytes(t.pkg.Bytes))
	if err := t.pkg.Close(); err != nil {
		return "", err
	}
	if remote {
		if text, err = t.rehearsePods(ctx, how); err != nil {
			t.Story.Failed()
			return "", err
		}
	}
	args, err := command(t.cfg, t.paths("RUN"))
	if err != nil {
		return "", err
	}
	t.Story.Begin(ui.JobStep)
	t.Story.Done("would run: " + shell.Join(args))
	return text, nil
}

// rehearsePods says what would be applied.
func (t *training) rehearsePods(ctx context.Context, how Rehearsal) (string, error) {
	var err error
	if how == RehearseClient {
		t.spec, err = clusterSpec(t.cfg, t.User)
	} else {
		_, err = t.inspect(ctx)
	}
	if err != nil {
		return "", err
	}
	wanted, err := raycluster.Build(t.spec)
	if err != nil {
		return "", fault.WithCode(fault.Usage, err)
	}
	manifest, err := raycluster.YAML(wanted)
	if err != nil || how == RehearseClient {
		return string(manifest), err
	}
	t.Story.Begin("cluster")
	changes, err := t.kube.Of(t.owner(t.spec.Name)).Diff(ctx, wanted)
	if err != nil {
		return "", err
	}
	t.Story.Done(fmt.Sprintf("RayCluster %s/%s %s", t.kube.Namespace, t.spec.Name, outcomeOf(changes)))
	if how == RehearseDiff {
		return changes, nil
	}
	return string(manifest), nil
}

// outcomeOf says what a difference would come to.
func outcomeOf(diff string) string {
	switch {
	case diff == "":
		return "would stay as it is"
	case strings.Contains(diff, "@@ -0,0 "):
		return "would be made"
	default:
		return "would be changed"
	}
}
