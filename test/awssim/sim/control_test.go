package sim_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/trainyard/trainyard/test/awssim/sim"
)

// control speaks to the control path and returns the status and the answer.
func control(t *testing.T, s *sim.Server, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/_awssim/"+path, strings.NewReader(body))
	noError(t, err)
	answer, err := http.DefaultClient.Do(request)
	noError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	noError(t, err)
	return answer.StatusCode, string(text)
}

func TestControlPath(t *testing.T) {
	s := sim.Start(t, frozen())
	before := s.World.Clock.Now()
	for path, body := range map[string]string{
		"clock": `{"advance": "30m"}`, "stock": `[{"type": "g6.*", "count": 0}]`, "conditions": `{"faults": [{"action": "DescribeVpcs", "kind": "fail"}]}`,
	} {
		if status, text := control(t, s, http.MethodPut, path, body); status != http.StatusOK {
			t.Errorf("PUT %s: %d %s", path, status, text)
		}
		if status, _ := control(t, s, http.MethodPut, path, `{"unknown": 1}`); status != http.StatusBadRequest {
			t.Errorf("PUT %s of nonsense: %d", path, status)
		}
	}
	if got := s.World.Clock.Now().Sub(before); got != 30*time.Minute {
		t.Errorf("the clock moved by %s", got)
	}
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	_, err := reserve(c, "us-east-1d", 1)
	wantCode(t, err, "InsufficientInstanceCapacity")
	_, err = c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	wantCode(t, err, "InternalError")
	for path, want := range map[string]string{
		"state": "ray-train", "ledger": `"kind": "cluster"`, "calls": `"outcome": "InternalError"`, "operations": "GetCallerIdentity",
		"clock": "2026-11-30T12:30:00Z", "conditions": `"kind": "fail"`, "stock": `"g6.*"`,
	} {
		if status, text := control(t, s, http.MethodGet, path, ""); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("GET %s: %d %s\nwant in it %s", path, status, text, want)
		}
	}
	if status, _ := control(t, s, http.MethodGet, "nothing", ""); status != http.StatusNotFound {
		t.Errorf("GET nothing: %d", status)
	}
}
