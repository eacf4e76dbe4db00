package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trainyard/trainyard/internal/addons"
)

// RemoveAddons removes the add-ons that InstallAddons installed, and nothing
// else.
func (w Workspace) RemoveAddons(ctx context.Context, req AddonsRequest) (err error) {
	defer w.failedStep(&err)
	cluster, state, err := w.lookAround(ctx, req.Config)
	if err != nil {
		return err
	}
	names := req.names()
	slices.Reverse(names)
	var problems []error
	for _, s := range statusOf(state, names) {
		w.Story.Begin(string(s.Name))
		n, err := addons.Remove(ctx, cluster, s.Name, req.Force, w.Story.Update)
		switch {
		case err != nil:
			w.Story.Failed()
			problems = append(problems, err)
		case n == 0 && s.State == AddonFound:
			w.Story.Done(s.What() + ": not ours, left alone")
		case n == 0:
			w.Story.Done("none of ours is there")
		default:
			w.Story.Done(fmt.Sprintf("%s is gone, %s", s.Title, plural(n, "object")))
			if s.Name == addons.KubeRay {
				w.Story.Note("KubeRay's CustomResourceDefinitions stay: with them everybody's RayClusters would go")
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(problems...)
}
