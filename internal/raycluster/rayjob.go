package raycluster

import (
	"fmt"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Job is what a RayJob runs on its own cluster.
type Job struct {
	Entrypoint string            // a line of shell, not empty
	Env        map[string]string // variables of the job
	Pip        []string          // packages that Ray installs
	Timeout    time.Duration     // 0: none
}

// BuildJob returns a RayJob that makes the cluster of a spec, runs one job on
// it and deletes the cluster. KubeRay submits the job itself, over HTTP: a pod
// that did it would need the image once more.
func BuildJob(s Spec, job Job) (*rayv1.RayJob, error) {
	cluster, err := Build(s)
	if err != nil {
		return nil, err
	}
	env, err := job.runtimeEnv()
	if err != nil {
		return nil, err
	}
	retries := int32(0)
	return &rayv1.RayJob{
		TypeMeta: metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayJob"},
		ObjectMeta: metav1.ObjectMeta{
			Name: cluster.Name, Namespace: cluster.Namespace, Labels: cluster.Labels, Annotations: cluster.Annotations,
		},
		Spec: rayv1.RayJobSpec{
			Entrypoint:               job.Entrypoint,
			RuntimeEnvYAML:           env,
			SubmissionMode:           rayv1.HTTPMode,
			BackoffLimit:             &retries,
			ActiveDeadlineSeconds:    seconds(job.Timeout),
			ShutdownAfterJobFinishes: true,
			RayClusterSpec:           &cluster.Spec,
		},
	}, nil
}

func (j Job) runtimeEnv() (string, error) {
	env := map[string]any{}
	if len(j.Env) > 0 {
		env["env_vars"] = j.Env
	}
	if len(j.Pip) > 0 {
		env["pip"] = j.Pip
	}
	if len(env) == 0 {
		return "", nil
	}
	text, err := yaml.Marshal(env)
	if err != nil {
		return "", fmt.Errorf("encoding the runtime environment: %w", err)
	}
	return string(text), nil
}

// seconds rounds up, since 0 is not allowed.
func seconds(d time.Duration) *int32 {
	if d <= 0 {
		return nil
	}
	n := int32(min((d+time.Second-1)/time.Second, 1<<31-1))
	return &n
}
