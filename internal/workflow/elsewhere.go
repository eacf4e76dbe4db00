package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/trainyard/trainyard/internal/config"
	"github.com/trainyard/trainyard/internal/evidence"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/internal/kube"
	"github.com/trainyard/trainyard/internal/process"
	"github.com/trainyard/trainyard/internal/raycluster"
	"github.com/trainyard/trainyard/internal/rayjob"
	"github.com/trainyard/trainyard/internal/runs"
	"github.com/trainyard/trainyard/internal/target/kubernetes"
)

// Find opens the run that name is the id of, else the newest that goes on: in this
// folder, or where that has none, and the settings say Kubernetes, among the jobs
// there. Where nothing goes on it is the newest of this folder, else of those jobs.
// Of such a job, which a trainyard in another folder or on another machine has
// started, or any client of Ray's, there is no folder yet: the run's Dir is empty.
func (w Workspace) Find(ctx context.Context, cfg *config.Config, name string) (*runs.Run, error) {
	there := ""
	if cfg.Target == config.TargetKubernetes { // what runs on this machine is not meant
		there = cfg.Target
	}
	run, err := w.Runs.OpenCurrent(name, there)
	if cfg.Target != config.TargetKubernetes || err == nil && (name != "" || !run.Current().Final()) {
		return run, err
	}
	job, goesOn, problem := w.findJob(ctx, cfg, name)
	switch {
	case problem != nil && err == nil:
		if !errors.Is(problem, errNoJob) {
			w.Story.Warn("what goes on elsewhere is not known: " + problem.Error())
		}
		return run, nil
	case problem != nil:
		return nil, problem
	case err == nil && !goesOn:
		return run, nil
	default:
		return job, nil
	}
}

// findJob looks for a job among those of the namespace's RayClusters, and tells
// whether it goes on.
func (w Workspace) findJob(ctx context.Context, cfg *config.Config, name string) (run *runs.Run, goesOn bool, err error) {
	k, err := kube.Connect(w.access(cfg.Kubernetes))
	if err != nil {
		return nil, false, err
	}
	jobs, problem := kubernetes.Jobs(ctx, k)
	found, err := pick(jobs, name, raycluster.OwnerName(w.User))
	if err != nil {
		err = fault.WithHint("trainyard status --target kubernetes lists the jobs that there are",
			fmt.Errorf("looking for it in namespace %q of context %q: %w", k.Namespace, k.Context, err))
		return nil, false, errors.Join(err, problem)
	}
	if problem != nil {
		w.Story.Warn("there may be newer jobs: " + problem.Error())
	}
	known, err := w.Runs.List()
	if err != nil {
		return nil, false, err
	}
	for _, run := range known {
		if run.Info.SubmissionID == found.SubmissionID {
			return run, !found.Status.Terminal(), nil
		}
	}
	info := infoOf(found)
	info.Cluster = runs.Cluster{ID: k.Namespace + "/" + found.Cluster, Kubeconfig: cfg.Kubernetes.Kubeconfig, Context: k.Context}
	return &runs.Run{Info: info}, !found.Status.Terminal(), nil
}

// errNoJob says that all Ray clusters were asked, and have no job that is meant.
var errNoJob = errors.New("no job of yours")

// pick finds the job that is meant among jobs, the newest first: by its submission
// id, or by the id of its run. Where no name is given it is the newest of mine that
// goes on, else the newest of mine.
func pick(jobs []kubernetes.FoundJob, name, me string) (kubernetes.FoundJob, error) {
	var matches []kubernetes.FoundJob
	for _, job := range jobs {
		named := job.SubmissionID == name || termsOf(job.Job).Run == name
		if name != "" && named || name == "" && job.Owner == me {
			matches = append(matches, job)
		}
	}
	switch {
	case len(matches) == 0 && name == "":
		return kubernetes.FoundJob{}, errNoJob
	case len(matches) == 0:
		return kubernetes.FoundJob{}, fault.WithCode(fault.Usage, fmt.Errorf("no job %q", name))
	case len(matches) > 1 && name != "":
		return kubernetes.FoundJob{}, fault.WithCode(fault.Usage,
			fmt.Errorf("job %q may be %s or %s", name, matches[0].SubmissionID, matches[1].SubmissionID))
	}
	for _, job := range matches {
		if !job.Status.Terminal() {
			return job, nil
		}
	}
	return matches[0], nil
}

// terms are what a job's metadata say of its run, for those who have no folder
// of it. They are shown to everybody who can reach the cluster: no secrets.
type terms struct {
	Run             string  `json:"run"`
	BuiltIn         bool    `json:"builtIn,omitempty"`
	Expect          string  `json:"expect"`
	FailFast        bool    `json:"failFast,omitempty"`
	TimeoutS        float64 `json:"timeoutSeconds,omitempty"`
	PendingTimeoutS float64 `json:"pendingTimeoutSeconds,omitempty"`
}

// termsKey is the key of the terms, as JSON, in a job's metadata.
const termsKey = "trainyard"

// metadata says of a job what run it is.
func metadata(info runs.Info) map[string]string {
	text, err := json.Marshal(terms{info.ID, info.BuiltIn, info.Expect, info.FailFast, info.TimeoutS, info.PendingTimeoutS})
	if err != nil {
		panic(err) // words and finite numbers
	}
	return map[string]string{termsKey: string(text)}
}

// termsOf reads what metadata wrote; those of others' jobs are zero.
func termsOf(job rayjob.Job) terms {
	var t terms
	if json.Unmarshal([]byte(job.Metadata[termsKey]), &t) != nil {
		return terms{}
	}
	return t
}

// infoOf is what is known of the run of a job that was started elsewhere. Its
// RayCluster stays: whoever has the run's folder may want it.
func infoOf(job kubernetes.FoundJob) runs.Info {
	t, start := termsOf(job.Job), job.Start()
	return runs.Info{
		ID: cmp.Or(t.Run, job.SubmissionID), State: runs.Running, Target: config.TargetKubernetes,
		Entrypoint: job.Entrypoint, SubmissionID: job.SubmissionID, BuiltIn: t.BuiltIn, Submitted: &start,
		Expect: cmp.Or(t.Expect, config.ExpectAny), FailFast: t.FailFast, Keep: true, Detached: true,
		TimeoutS: t.TimeoutS, PendingTimeoutS: t.PendingTimeoutS,
	}
}

// adopt makes a folder for a run that has none here.
func (w Workspace) adopt(run *runs.Run) error {
	if run.Dir != "" {
		return nil
	}
	info := run.Info
	made, err := w.Runs.Create(info)
	if err != nil {
		return err
	}
	made.Info.State, made.Info.Owner = info.State, process.ID{}
	*run = *made
	w.Story.Note(fmt.Sprintf("job %s was started elsewhere; here it is run %s", info.SubmissionID, run.Info.ID))
	return run.Save()
}

// recall fetches the survey of the nodes that was made before a job, by whoever
// started it.
func recall(ctx context.Context, ray *rayjob.Client, submissionID string) ([]evidence.Survey, error) {
	jobs, err := ray.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var first *rayjob.Job
	for i, job := range jobs {
		if job.Metadata[rayjob.SurveyKey] == submissionID && job.Status == rayjob.Succeeded && (first == nil || job.StartMillis < first.StartMillis) {
			first = &jobs[i]
		}
	}
	if first == nil {
		return nil, errors.New("no survey of the nodes was made before job " + submissionID)
	}
	output, err := ray.Output(ctx, first.SubmissionID)
	if err != nil {
		return nil, err
	}
	return evidence.ParseSurveys([]byte(output))
}

// namespacedName splits the ID of a RayCluster.
func namespacedName(id string) (namespace, name string) {
	namespace, name, _ = strings.Cut(id, "/")
	return namespace, name
}
