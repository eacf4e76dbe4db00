package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/fault"
	"github.com/trainyard/trainyard/test/awssim/world"
)

func TestQuotaRequest(t *testing.T) {
	l := newLab(t, world.Default())
	q := QuotaRequest{Region: "us-east-1", Code: "L-DB2E81BA", Limit: 192, Wanted: 384}
	file := func(wanted int) (Filed, error) {
		q.Wanted = wanted
		return q.File(t.Context(), l.session.Quotas("us-east-1"))
	}
	first, err := file(384)
	if err != nil || first.ID == "" || first.Already || first.Wanted != 384 {
		t.Fatalf("filed %+v, error %v", first, err)
	}
	for _, wanted := range []int{384, 240} { // as large, or smaller
		if again, err := file(wanted); err != nil || !again.Already || again.ID != first.ID || again.Wanted != 384 {
			t.Errorf("%d again: %+v, error %v", wanted, again, err)
		}
	}
	_, err = file(432)
	inTheWay(t, err, "a request for 384 vCPUs is open ("+first.ID+", PENDING)")
	if n := len(l.actions("RequestServiceQuotaIncrease")); n != 1 {
		t.Errorf("requested %d times", n)
	}
	// One that is not listed yet is found out by AWS's refusal.
	l.World.Locked(func() {
		l.World.Conditions.Faults = []world.Fault{{Action: "RequestServiceQuotaIncrease", Kind: world.Fail, Code: "ResourceAlreadyExistsException", Status: 400}}
	})
	q.Region, q.Wanted = "us-east-2", 384
	_, err = q.File(t.Context(), l.session.Quotas("us-east-2"))
	inTheWay(t, err, "another request is open")
}

func inTheWay(t *testing.T, err error, text string) {
	t.Helper()
	hints := fault.HintsOf(err)
	repeats := slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(h, "request-service-quota-increase") })
	if fault.CodeOf(err) != fault.NoCapacity || !strings.Contains(fmt.Sprint(err), text) || len(hints) == 0 || repeats {
		t.Errorf("%v, exit code %d, hints %q; want %q", err, fault.CodeOf(err), hints, text)
	}
}

func TestQuotaRequestDenied(t *testing.T) {
	for _, action := range []string{"servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota", "servicequotas:RequestServiceQuotaIncrease"} {
		l := newLab(t, one(func(a *world.AccountSeed, _ *world.Seed) { a.ServiceControl = denying(action) }))
		q := QuotaRequest{Region: "us-east-1", Code: "L-DB2E81BA", Limit: 192, Wanted: 384}
		_, err := q.File(t.Context(), l.session.Quotas("us-east-1"))
		if hints := strings.Join(fault.HintsOf(err), " "); awsapi.KindOf(err) != awsapi.Denied || !strings.Contains(hints, "allow "+action) {
			t.Errorf("%s: %v, hints %q", action, err, hints)
		}
	}
}

// denying is an organization's policy that denies one call.
func denying(action string) []byte {
	return fmt.Appendf(nil, `{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": %q, "Resource": "*"}]}`, action)
}
