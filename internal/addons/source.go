package addons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/trainyard/trainyard/internal/fault"
)

// Source says where charts come from: "" is from their makers, over the
// Internet; "oci://HOST/PATH" a registry that mirrors them; else a folder.
type Source string

// load returns the chart that is pinned.
func (s Source) load(ctx context.Context, p pin) (*chart.Chart, error) {
	var c *chart.Chart
	var archive []byte
	var err error
	switch {
	case s == "":
		archive, err = download(ctx, p)
	case strings.HasPrefix(string(s), ociScheme):
		archive, err = pullImage(ctx, string(s), p)
	default:
		c, archive, err = fromFolder(string(s), p)
	}
	if err != nil {
		return nil, err
	}
	from := string(s)
	if from == "" {
		from = p.url
	}
	if archive != nil {
		if c, err = loader.LoadArchive(bytes.NewReader(archive)); err != nil {
			return nil, fmt.Errorf("unpacking chart %s from %s: %w", p, from, err)
		}
	}
	if err := p.check(c, archive); err != nil {
		return nil, fmt.Errorf("checking chart %s from %s: %w", p, from, err)
	}
	return c, nil
}

// fromFolder finds a chart in a folder: packed, as helm pull leaves it, or as a
// folder of its name.
func fromFolder(dir string, p pin) (*chart.Chart, []byte, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fault.WithCode(fault.Usage, fmt.Errorf("reading charts from %q: there is no such folder", dir))
	case err != nil:
		return nil, nil, fmt.Errorf("reading charts: %w", err)
	case !info.IsDir():
		return nil, nil, fault.WithCode(fault.Usage, fmt.Errorf("reading charts from %q: it is not a folder", dir))
	}
	archive, err := os.ReadFile(filepath.Join(dir, p.chart+"-"+p.version+".tgz")) //nolint:gosec // the user names the folder
	if err == nil {
		return nil, archive, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("reading charts: %w", err)
	}
	folder := filepath.Join(dir, p.chart)
	if _, err := os.Stat(filepath.Join(folder, "Chart.yaml")); err != nil {
		return nil, nil, absent(dir, p)
	}
	c, err := loader.LoadDir(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("reading chart %q: %w", folder, err)
	}
	return c, nil, nil
}

// absent says that a folder has no such chart, and which versions it has.
func absent(dir string, p pin) error {
	text := fmt.Sprintf("finding chart %s in %q: there is neither %s-%s.tgz nor a folder %s", p, dir, p.chart, p.version, p.chart)
	if others, err := filepath.Glob(filepath.Join(dir, p.chart+"-*.tgz")); err == nil && len(others) > 0 {
		for i := range others {
			others[i] = filepath.Base(others[i])
		}
		text += ", but " + strings.Join(others, ", ")
	}
	return fault.WithHint("Fetch it with: "+p.pull()+" --destination "+dir, errors.New(text))
}
