package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	var names []string
	for _, file := range files {
		crd, err := readCRD(file)
		if err != nil {
			return err
		}
		if _, err := crds.Create(ctx, crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s: %w", crd.Name, err)
		}
		names = append(names, crd.Name)
	}
	for _, name := range names {
		err := wait.PollUntilContextCancel(ctx, healthInterval, true, func(ctx context.Context) (bool, error) {
			crd, err := crds.Get(ctx, name, metav1.GetOptions{})
			return err == nil && established(crd), err
		})
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", name, err)
		}
	}
	return nil
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

func established(crd *apiextensions.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensions.Established {
			return c.Status == apiextensions.ConditionTrue
		}
	}
	return false
}
