package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// installCRDs creates the definitions in the files of dir, unless they exist,
// and returns when the apiserver serves them.
func installCRDs(ctx context.Context, config *rest.Config, dir string) error {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	var crds []*apiextensions.CustomResourceDefinition
	for _, file := range files {
		crd, err := readCRD(file)
		if err != nil {
			return err
		}
		_, err = client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s: %w", crd.Name, err)
		}
		crds = append(crds, crd)
	}
	for _, crd := range crds {
		err := wait.PollUntilContextCancel(ctx, healthInterval, true, func(context.Context) (bool, error) {
			return served(client.Discovery(), crd)
		})
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", crd.Name, err)
		}
	}
	return nil
}

// served asks what the apiserver serves, which is a few bytes; the status of a
// definition comes with megabytes of schema.
func served(client discovery.ServerResourcesInterface, crd *apiextensions.CustomResourceDefinition) (bool, error) {
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		list, err := client.ServerResourcesForGroupVersion(crd.Spec.Group + "/" + version.Name)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == crd.Spec.Names.Plural }) {
			return false, nil
		}
	}
	return true, nil
}

func readCRD(file string) (*apiextensions.CustomResourceDefinition, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, crd); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return crd, nil
}
