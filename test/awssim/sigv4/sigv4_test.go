package sigv4

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// The request is an example of AWS's documentation of the algorithm.
func example() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", nil)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	r.Header.Set("X-Amz-Date", "20150830T123600Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "+
		"SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")
	return r
}

func TestDocumentedExample(t *testing.T) {
	s, err := Parse(example())
	if err != nil {
		t.Fatal(err)
	}
	if s.AccessKey != "AKIDEXAMPLE" || s.Region != "us-east-1" || s.Service != "iam" || !s.Time.Equal(time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)) {
		t.Errorf("the signature is %+v", s)
	}
	const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	if !s.Valid(example(), nil, secret) {
		t.Error("AWS's own example is not valid")
	}
	if s.Valid(example(), []byte("x"), secret) || s.Valid(example(), nil, "x") {
		t.Error("another body, or another secret, is valid")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example().Header.Get("Authorization"), "20150830T123600Z")
	f.Add("AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request,SignedHeaders=;;,Signature==", "x")
	f.Fuzz(func(_ *testing.T, authorization, date string) {
		r := example()
		r.Header.Set("Authorization", authorization)
		r.Header.Set("X-Amz-Date", date)
		if s, err := Parse(r); err == nil {
			s.Valid(r, nil, "secret")
		}
	})
}
