package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// logBytes bounds what LastLines returns: a line may be of any length.
const logBytes = 64 << 10

// LastLines returns the end of a container's log, and of the run before the
// present one where previous is set, as [Reason] asks for it.
func (c *Cluster) LastLines(ctx context.Context, pod *corev1.Pod, container string, previous bool, lines int64) (string, error) {
	core, err := c.core()
	if err != nil {
		return "", err
	}
	limit := int64(logBytes)
	options := &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: &lines, LimitBytes: &limit}
	var text []byte
	err = c.try(ctx, func() (err error) {
		text, err = core.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").
			VersionedParams(options, scheme.ParameterCodec).DoRaw(ctx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the log of container %s of pod %s: %w", container, pod.Name, err)
	}
	return string(text), nil
}

// core returns a client for what the typed one does not do: logs and streams.
func (c *Cluster) core() (*rest.RESTClient, error) {
	config := rest.CopyConfig(c.Config)
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing a client for %s: %w", c.Server, err)
	}
	return client, nil
}
