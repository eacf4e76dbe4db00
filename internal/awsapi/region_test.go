package awsapi

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainyard/trainyard/internal/fault"
)

func TestHome(t *testing.T) {
	for _, test := range []struct {
		own   string
		named []string
		want  string
	}{
		{"", nil, "us-east-1"},
		{"eu-west-1", nil, "eu-west-1"},
		{"eu-west-1", []string{"us-west-2"}, "us-west-2"},  // which is to be asked anyway
		{"eu-south-2", []string{"ap-east-1"}, "us-east-1"}, // of which the account may have neither
		{"eu-south-2", []string{"ap-east-1", "sa-east-1"}, "sa-east-1"},
		{"us-esat-1", []string{"us-esat-2"}, "us-east-1"},
		{"us-east-2", []string{"cn-north-1"}, "us-east-2"}, // credentials are of one partition
		{"", []string{"cn-northwest-1"}, "cn-northwest-1"},
		{"us-gov-east-1", nil, "us-gov-east-1"},
		{"us-iso-central-1", nil, "us-iso-east-1"},
		{"us-isob-central-1", nil, "us-isob-east-1"},
		{"eu-isoe-central-1", nil, "eu-isoe-west-1"},
		{"us-isof-central-1", nil, "us-isof-south-1"},
		{"eusc-de-west-1", nil, "eusc-de-east-1"},
	} {
		if got := (&Session{Region: test.own}).Home(test.named...); got != test.want {
			t.Errorf("home of %q with %q is %s, want %s", test.own, test.named, got, test.want)
		}
	}
}

func TestPartitionOf(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1": "aws", "mx-central-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-iso-east-1": "aws-iso",
		"us-isob-east-1": "aws-iso-b", "eu-isoe-west-1": "aws-iso-e", "us-isof-south-1": "aws-iso-f", "eusc-de-east-1": "aws-eusc",
	} {
		if got := PartitionOf(region); got != want {
			t.Errorf("%s is of partition %s, want %s", region, got, want)
		}
	}
}

func TestCheckRegions(t *testing.T) {
	if err := CheckRegions("", "us-east-1", "eu-south-2", "us-gov-west-1", "ap-southeast-9", "eusc-de-east-1"); err != nil {
		t.Error(err)
	}
	err := CheckRegions("us-esat-1", "us-east-1", "US-EAST-1", "us-east-1a", "mars-1")
	want := `unknown region "us-esat-1" (did you mean us-east-1?)
unknown region "US-EAST-1" (did you mean us-east-1?)
unknown region "us-east-1a" (did you mean us-east-1?)
unknown region "mars-1"`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || fault.CodeOf(err) != fault.Usage {
		t.Errorf("exit code %d, text (-want +got):\n%s", fault.CodeOf(err), diff)
	}
}
