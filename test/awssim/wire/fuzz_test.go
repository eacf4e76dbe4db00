package wire

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// asked has a parameter of each kind.
type asked struct {
	Name    string
	Names   []string `aws:"Name2"`
	Count   int
	Ratio   float64
	Really  bool
	When    time.Time
	Filters []struct {
		Name   string
		Values []string `aws:"Value"`
	} `aws:"Filter"`
	Tags  map[string]string
	Maybe *struct{ Value bool }
}

// Whatever arrives, the answer is a request, or an error that AWS could give.
func fuzz(f *testing.F, service Service, request func(body string) *http.Request, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := Parse(service, request(body), []byte(body))
		if err != nil {
			if AsError(err).Status >= http.StatusInternalServerError {
				t.Errorf("the error of a request is AWS's fault: %v", err)
			}
			return
		}
		var in asked
		if err := got.Decode(&in); err != nil {
			if AsError(err).Status >= http.StatusInternalServerError {
				t.Errorf("the error of a parameter is AWS's fault: %v", err)
			}
			return
		}
		service.Respond(Reply{ResponseWriter: httptest.NewRecorder(), RequestID: "id"}, service.Encode("id", got.Action, in))
	})
}

func FuzzEC2(f *testing.F) {
	request := func(string) *http.Request { return httptest.NewRequest(http.MethodPost, "/", nil) }
	fuzz(
		f, Service{Name: "ec2", Protocol: EC2, Version: "1"}, request,
		"Action=A&Version=1&Name=x&Filter.1.Name=a&Filter.1.Value.1=b&Filter.1.Value.2=c&Count=3",
		"Action=A&Version=1&Filter.1=x&Filter.1.Name=y", "Action=A&Version=1&Count=x", "Action=A&Version=1&Filter=&When=2026-01-01T00:00:00Z",
		"Action=A&Version=1&"+strings.Repeat("a.", 40)+"b=1", "%", "Action=A&Action=B", "Action=A&Version=1&Maybe.Value=true&Filter.99999999999999999999.Name=x",
	)
}

func FuzzQuery(f *testing.F) {
	request := func(string) *http.Request { return httptest.NewRequest(http.MethodPost, "/", nil) }
	fuzz(
		f, Service{Name: "sts", Protocol: Query, Version: "1"}, request,
		"Action=A&Version=1&Name2.member.1=x&Name2.member.2=y", "Action=A&Version=1&member=x&member.member=y",
	)
}

func FuzzJSON(f *testing.F) {
	request := func(string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("X-Amz-Target", "S.A")
		return r
	}
	fuzz(
		f, Service{Name: "servicequotas", Protocol: JSON}, request,
		`{"Name": "x", "Count": 3, "Ratio": 1.5, "When": 1796050863.8, "Filter": [{"Name": "a", "Value": ["b"]}], "Tags": {"a": "b"}}`,
		`{}`, ``, `null`, `[]`, `{"Name": {"x": 1}}`, `{"Count": 1e99}`, `{} {}`, `{"When": 1e300}`, `{"Maybe": null, "Tags": {"a": null}}`,
	)
}

func FuzzREST(f *testing.F) {
	service := Service{Name: "eks", Protocol: REST, Routes: []Route{{http.MethodGet, "/clusters/{name}", "A"}}}
	f.Add("/clusters/a?Count=1&Name2=x&Name2=y")
	f.Add("/clusters/%2e%2E?x=%zz")
	f.Add("/clusters/")
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		got, err := Parse(service, &http.Request{Method: http.MethodGet, URL: u, Body: http.NoBody}, nil)
		if err != nil {
			return
		}
		var in asked
		if err := got.Decode(&in); err != nil && AsError(err).Status >= http.StatusInternalServerError {
			t.Errorf("the error of a parameter is AWS's fault: %v", err)
		}
	})
}

func TestAnswers(t *testing.T) {
	type item struct {
		VPCID   string
		Nothing string
		Made    time.Time
		Yes     bool
		List    []string
		Tagged  int    `aws:"oddName"`
		Empty   []int  `aws:",omitempty"`
		hidden  string //nolint:unused // fields of our own are not answered
	}
	answer := struct {
		Items []item `aws:"itemSet"`
	}{[]item{{VPCID: "<v>", Made: time.Date(2026, 11, 30, 12, 0, 0, 5e8, time.UTC), List: []string{"a"}, Tagged: 1}}}
	for name, test := range map[string]struct {
		service Service
		want    string
	}{
		"EC2": {
			Service{Name: "ec2", Protocol: EC2, Version: "1"},
			`<itemSet><item><vpcId>&lt;v&gt;</vpcId><made>2026-11-30T12:00:00.500Z</made><yes>false</yes><list><item>a</item></list><oddName>1</oddName></item></itemSet></AResponse>`,
		},
		"query": {
			Service{Name: "sts", Protocol: Query, Version: "1"},
			`<AResult><itemSet><member><VpcId>&lt;v&gt;</VpcId><Made>2026-11-30T12:00:00.500Z</Made><Yes>false</Yes><List><member>a</member></List><oddName>1</oddName></member></itemSet></AResult>`,
		},
		"JSON": {
			Service{Name: "pricing", Protocol: JSON},
			`{"itemSet":[{"List":["a"],"Made":1796040000.5,"VpcId":"<v>","Yes":false,"oddName":1}]}`,
		},
		"REST": {
			Service{Name: "eks", Protocol: REST},
			`{"itemSet":[{"list":["a"],"made":1796040000.5,"oddName":1,"vpcId":"<v>","yes":false}]}`,
		},
	} {
		w := httptest.NewRecorder()
		test.service.Respond(Reply{ResponseWriter: w, RequestID: "id"}, test.service.Encode("id", "A", answer))
		if got := w.Body.Bytes(); !bytes.Contains(got, []byte(test.want)) {
			t.Errorf("%s: got\n%s\nwant in it\n%s", name, got, test.want)
		}
	}
}

func TestUnknownParameterIsSaid(t *testing.T) {
	service := Service{Name: "ec2", Protocol: EC2, Version: "1"}
	got, err := Parse(service, httptest.NewRequest(http.MethodPost, "/", nil), []byte("Action=A&Version=1&Filter.1.Title=x"))
	if err != nil {
		t.Fatal(err)
	}
	var in asked
	if err := got.Decode(&in); err == nil || AsError(err).Code != "UnknownParameter" {
		t.Errorf("got %v, want an error that says so", err)
	}
}
