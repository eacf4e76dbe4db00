package workflow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/pack"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/train"
)

// surveyPatience is how long a survey of all nodes may take; its Python starts
// in some ten seconds where nothing else runs.
const surveyPatience = 3 * time.Minute

// survey looks at every node of a cluster by a small job of ours, which takes
// no CPU from any other. Ray goes on remembering it: one that is deleted as soon
// as it has ended comes back as failed.
func (w Workspace) survey(ctx context.Context, ray *rayjob.Client, submissionID string) ([]evidence.Survey, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()
	pkg, err := pack.FS(train.Package())
	if err != nil {
		return nil, err
	}
	defer pkg.Close()
	uri, _, err := ray.Upload(ctx, pkg.Name, pkg.Path)
	if err != nil {
		return nil, err
	}
	job := rayjob.Submission{
		ID: fmt.Sprintf("%s-survey-%08x", submissionID, rand.Uint32()), Entrypoint: "python -m trainyard.survey",
		RuntimeEnv: rayjob.RuntimeEnv{WorkingDir: uri}, Metadata: map[string]string{rayjob.SurveyKey: submissionID},
	}
	if err := ray.Submit(ctx, job); err != nil {
		if ctx.Err() != nil { // it may have arrived
			w.endSurvey(ray, job.ID)
		}
		return nil, err
	}
	end, err := ray.WaitForEnd(ctx, job.ID, nil)
	if err != nil {
		w.endSurvey(ray, job.ID)
		return nil, err
	}
	output, err := ray.Output(ctx, job.ID)
	if err != nil {
		return nil, err
	}
	if end.Status != rayjob.Succeeded {
		return nil, fmt.Errorf("surveying the nodes: job %q ended as %s: %s", job.ID, end.Status, end.Message)
	}
	return evidence.ParseSurveys([]byte(output))
}

// endSurvey stops a survey that nobody waits for any longer, and sees it end.
func (w Workspace) endSurvey(ray *rayjob.Client, id string) {
	ctx, cancel := context.WithTimeout(w.Hard, stopPatience)
	defer cancel()
	if ray.Stop(ctx, id) == nil {
		_, _ = ray.WaitForEnd(ctx, id, nil)
	}
}
