package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// TestAWSPolicy runs all that trainyard does with AWS under docs/iam-policy.json
// alone: nothing is refused, and nothing in it is never asked for.
func TestAWSPolicy(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/iam-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	seed := roomy()
	account := &seed.Accounts[0]
	account.Keys[0].Policy = text
	account.Quotas["us-east-2/L-DB2E81BA"] = -1 // never applied: AWS's default is asked for
	server := sim.Start(t, seed)
	dir := t.TempDir()
	for _, line := range []string{
		"capacity --cluster ray-train --nodes 8 --probe --yes",
		"capacity --nodes 8 --region us-east-1 --probe --keep --yes",
		"capacity --nodes 8 --region us-east-1 --cluster ray-trian",
		"capacity --type p5.48xlarge,m7i.xlarge --region us-east-1,us-east-2",
		"capacity --nodes 99 --region us-east-1 --request-quota --yes",
		"types",
	} {
		cmd := command(t, server, dir, strings.Fields(line)...)
		if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 6 {
			t.Errorf("trainyard %s: %v\n%s", line, err, out)
		}
	}
	used := map[string]bool{}
	for _, call := range server.Calls() {
		for _, check := range call.Checks {
			used[check.Action] = true
			if !check.Allowed {
				t.Errorf("the policy does not allow %s on %s", check.Action, check.Resource)
			}
		}
	}
	if diff := cmp.Diff(actionsOf(t, text), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("what the policy allows and what is asked for (-policy +asked):\n%s", diff)
	}
}

// actionsOf lists what a policy allows.
func actionsOf(t *testing.T, text []byte) []string {
	t.Helper()
	var policy struct{ Statement []struct{ Action any } }
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	actions := map[string]bool{}
	for _, s := range policy.Statement {
		switch a := s.Action.(type) {
		case string:
			actions[a] = true
		case []any:
			for _, name := range a {
				actions[name.(string)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(actions))
}

// TestAWSPolicyIsNarrow: under the policy nobody ends, or tags, a reservation that
// trainyard has not made, nor makes one without its tag.
func TestAWSPolicyIsNarrow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/iam-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	seed := roomy()
	seed.Accounts[0].Keys = append(seed.Accounts[0].Keys, world.Key{AccessKey: "AKIANARROW", Secret: "narrow", User: "trainyard", Policy: text})
	server := sim.Start(t, seed)
	client := func(key, secret string) *ec2.Client {
		return ec2.New(ec2.Options{
			Region: "us-east-1", BaseEndpoint: &server.URL,
			Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
		})
	}
	reserve := &ec2.CreateCapacityReservationInput{
		InstanceType: aws.String("g6.12xlarge"), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix,
		InstanceCount: aws.Int32(1), AvailabilityZoneId: aws.String("use1-az4"),
	}
	made, err := client(world.DefaultKey, world.DefaultSecret).CreateCapacityReservation(t.Context(), reserve)
	if err != nil {
		t.Fatal(err)
	}
	id, narrow := made.CapacityReservation.CapacityReservationId, client("AKIANARROW", "narrow")
	_, untagged := narrow.CreateCapacityReservation(t.Context(), reserve)
	_, cancelled := narrow.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: id})
	_, tagged := narrow.CreateTags(t.Context(), &ec2.CreateTagsInput{
		Resources: []string{*id}, Tags: []types.Tag{{Key: aws.String("trainyard.dev/managed-by"), Value: aws.String("trainyard")}},
	})
	for what, err := range map[string]error{"made without a tag": untagged, "cancelled": cancelled, "tagged": tagged} {
		if awsapi.KindOf(err) != awsapi.Denied {
			t.Errorf("somebody else's reservation was %s: %v", what, err)
		}
	}
}
