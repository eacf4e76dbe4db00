package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// dashboard is Ray's interface for jobs.
type dashboard struct {
	t   *testing.T
	url string
}

// job is what it says about one.
type job struct {
	ID     string `json:"submission_id"`
	Status string `json:"status"`
	Logs   string `json:"logs"`
}

func (d dashboard) submit(entrypoint string) (id string) {
	d.t.Helper()
	j, err := d.call(d.t.Context(), http.MethodPost, "", map[string]string{"entrypoint": entrypoint})
	if err != nil {
		d.t.Fatal(err)
	}
	return j.ID
}

func (d dashboard) untilEnd(id string) (status string) {
	d.t.Helper()
	eventually(d.t, func(ctx context.Context) string {
		j, err := d.call(ctx, http.MethodGet, id, nil)
		if status = j.Status; slices.Contains([]string{"SUCCEEDED", "FAILED", "STOPPED"}, status) {
			return ""
		}
		return "the job is " + status + " " + text(err)
	})
	return status
}

func (d dashboard) log(id string) string {
	d.t.Helper()
	j, err := d.call(d.t.Context(), http.MethodGet, id+"/logs", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return j.Logs
}

func (d dashboard) call(ctx context.Context, method, path string, body any) (job, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return job{}, err
	}
	request, err := http.NewRequestWithContext(ctx, method, d.url+"/api/jobs/"+path, bytes.NewReader(content))
	if err != nil {
		return job{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return job{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return job{}, fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	var j job
	return j, json.NewDecoder(response.Body).Decode(&j)
}
