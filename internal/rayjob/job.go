package rayjob

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/trainyard/trainyard/internal/wait"
)

// Status is a job's state in Ray's own words.
type Status string

// The states of a job. The last three are final.
const (
	Pending   Status = "PENDING"
	Running   Status = "RUNNING"
	Stopped   Status = "STOPPED"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
)

// Terminal says whether the job has come to its end.
func (s Status) Terminal() bool { return s == Stopped || s == Succeeded || s == Failed }

// Job is what Ray knows of a job. The runtime environment is left out: it may
// hold what should not be repeated.
type Job struct {
	SubmissionID   string            `json:"submission_id"`
	Type           string            `json:"type"`   // SUBMISSION, or DRIVER for one that was not submitted
	ID             string            `json:"job_id"` // Ray's internal id, such as 02000000; empty until the driver has joined the cluster
	Status         Status            `json:"status"`
	Entrypoint     string            `json:"entrypoint"`
	Message        string            `json:"message"`    // while PENDING: what it waits for; when FAILED: why, with the end of the log
	ErrorType      string            `json:"error_type"` // such as RUNTIME_ENV_SETUP_FAILURE, JOB_ENTRYPOINT_COMMAND_ERROR
	Metadata       map[string]string `json:"metadata"`
	DriverNodeID   string            `json:"driver_node_id"`
	DriverAgent    string            `json:"driver_agent_http_address"` // base URL of that node's agent, as the cluster sees it
	DriverExitCode *int              `json:"driver_exit_code"`          // nil until the driver has ended by itself
	StartMillis    int64             `json:"start_time"`
	EndMillis      int64             `json:"end_time"` // 0 until the end
}

// SurveyKey is the key in the Metadata of jobs of ours that only look at nodes; its
// value is the submission id of the job that they do it for.
const SurveyKey = "trainyard_survey"

// Start returns the time of submission.
func (j Job) Start() time.Time { return time.UnixMilli(j.StartMillis) }

// Submission describes a job to start.
type Submission struct {
	Entrypoint string            `json:"entrypoint"`    // a shell command line
	ID         string            `json:"submission_id"` // must be new on the cluster
	RuntimeEnv RuntimeEnv        `json:"runtime_env"`
	Metadata   map[string]string `json:"metadata,omitempty"` // shown by the Jobs API; no secrets
	// NumCPUs and NumGPUs are reserved for the entrypoint itself. 0 lets it run
	// on the head, beside everything else.
	NumCPUs float64 `json:"entrypoint_num_cpus"`
	NumGPUs float64 `json:"entrypoint_num_gpus"`
}

// RuntimeEnv is the part of Ray's runtime environment that a job may set. The
// Jobs API shows it to everyone who can reach the cluster: no secrets.
type RuntimeEnv struct {
	WorkingDir string            `json:"working_dir,omitempty"` // a URI of [Client.Upload]
	EnvVars    map[string]string `json:"env_vars,omitempty"`
	Pip        []string          `json:"pip,omitempty"` // requirements, installed on each node
}

// Submit starts a job. It may be called again with the same submission after
// an error that leaves open whether Ray got the first: a job that is there
// already under the same ID, with the same entrypoint, counts as submitted. So
// the ID must be one that nobody else makes.
func (c *Client) Submit(ctx context.Context, s Submission) error {
	err := c.retry(ctx, func(ctx context.Context) error {
		err := c.call(ctx, http.MethodPost, "/api/jobs/", nil, s, nil)
		if err == nil {
			return nil
		}
		if job, lookErr := c.job(ctx, s.ID); lookErr == nil && job.Entrypoint == s.Entrypoint {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("submitting job %q: %w", s.ID, err)
	}
	return nil
}

// Job returns the job with the given submission id.
func (c *Client) Job(ctx context.Context, id string) (Job, error) {
	var job Job
	err := c.retry(ctx, func(ctx context.Context) (err error) {
		job, err = c.job(ctx, id)
		return err
	})
	if err != nil {
		return Job{}, fmt.Errorf("looking up job %q: %w", id, err)
	}
	return job, nil
}

func (c *Client) job(ctx context.Context, id string) (Job, error) {
	var job Job
	return job, c.call(ctx, http.MethodGet, jobPath(id), nil, nil, &job)
}

// Jobs returns all jobs that the cluster remembers, those that were not
// submitted over the API included.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	var jobs []Job
	if err := c.get(ctx, "/api/jobs/", nil, &jobs); err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	return jobs, nil
}

// Stop asks Ray to end the job: SIGTERM to the driver's process group, SIGKILL
// some seconds later. It returns at once; [Client.WaitForEnd] sees the end.
// Stopping a job that has ended does nothing.
func (c *Client) Stop(ctx context.Context, id string) error {
	err := c.retry(ctx, func(ctx context.Context) error {
		return c.call(ctx, http.MethodPost, jobPath(id)+"/stop", nil, nil, nil)
	})
	if err != nil {
		return fmt.Errorf("stopping job %q: %w", id, err)
	}
	return nil
}

// Delete makes Ray forget a job that has ended. Deleting one that is not there
// does nothing.
func (c *Client) Delete(ctx context.Context, id string) error {
	err := c.retry(ctx, func(ctx context.Context) error {
		return c.call(ctx, http.MethodDelete, jobPath(id), nil, nil, nil)
	})
	if err != nil && !IsNotFound(err) {
		return fmt.Errorf("deleting job %q: %w", id, err)
	}
	return nil
}

// WaitForEnd polls the job until it has ended and returns it. seen, if not
// nil, gets every look, which shows a pending job's Message change. A job that
// failed is no error here.
func (c *Client) WaitForEnd(ctx context.Context, id string, seen func(Job)) (Job, error) {
	var job Job
	err := wait.For(ctx, wait.Options{Interval: time.Second}, func(ctx context.Context) (bool, string, error) {
		var err error
		if job, err = c.Job(ctx, id); err != nil {
			return false, "", err
		}
		if seen != nil {
			seen(job)
		}
		return job.Status.Terminal(), string(job.Status), nil
	})
	return job, err
}

// Output returns all that the job's driver has printed so far, read at once: for
// jobs that print little. A [Collector] reads what grows.
func (c *Client) Output(ctx context.Context, id string) (string, error) {
	var reply struct {
		Logs string `json:"logs"`
	}
	if err := c.get(ctx, jobPath(id)+"/logs", nil, &reply); err != nil {
		return "", fmt.Errorf("reading the output of job %q: %w", id, err)
	}
	return reply.Logs, nil
}

func jobPath(id string) string { return "/api/jobs/" + url.PathEscape(id) }
