package awsapi

import (
	"context"
	"crypto/sha1" //nolint:gosec // as the SDK names its files
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainyard/trainyard/internal/fault"
)

// isolate leaves of AWS's environment and files only this configuration.
func isolate(t *testing.T, config string) (home string) {
	t.Helper()
	home = t.TempDir()
	writeFile(t, filepath.Join(home, "config"), config)
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return home
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	isolate(t, "[profile work]\nregion = eu-west-1\naws_access_key_id = AKIA\naws_secret_access_key = secret\n")
	s, err := Load(t.Context(), Options{Profile: "work"})
	if err != nil || s.Region != "eu-west-1" {
		t.Errorf("region %v, error %v", s, err)
	}
}

// TestLoadFails: each way in which there are no credentials is told from the
// others, with its cause.
func TestLoadFails(t *testing.T) {
	for name, test := range map[string]struct {
		config, profile string
		env             [2]string
		kind            Kind
		text, hint      string
	}{
		"nothing":            {kind: NoCredentials, text: "there are none in the environment", hint: "aws configure"},
		"another profile":    {config: "[profile work]\n", profile: "works", kind: NoProfile, text: `no profile "works"`, hint: "list-profiles"},
		"no such program":    {config: "[default]\ncredential_process = /nonexistent/vault\n", text: "credential_process"},
		"a failing program":  {config: "[default]\ncredential_process = sh -c 'exit 3'\n", text: "exit status 3"},
		"a broken file":      {config: "[default\nregion us-east-1\n", text: `config is not understood`},
		"no source profile":  {config: "[default]\nrole_arn = arn:aws:iam::111122223333:role/x\nsource_profile = nope\n", kind: NoProfile, text: "nope", hint: "list-profiles"},
		"no CA certificates": {env: [2]string{"AWS_CA_BUNDLE", "/nonexistent.pem"}, text: "/nonexistent.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			isolate(t, test.config)
			if test.env[0] != "" {
				t.Setenv(test.env[0], test.env[1])
			}
			_, err := Load(t.Context(), Options{Profile: test.profile})
			if hints := strings.Join(fault.HintsOf(err), " "); KindOf(err) != test.kind || !strings.Contains(fmt.Sprint(err), test.text) || !strings.Contains(hints, test.hint) {
				t.Errorf("%v is %q with hints %q, want %q with %q in it and hint %q", err, KindOf(err), hints, test.kind, test.text, test.hint)
			}
		})
	}
}

func TestLoadInterrupted(t *testing.T) {
	for name, config := range map[string]string{"a program": "[default]\ncredential_process = sleep 0.1\n", "nothing": ""} {
		isolate(t, config)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Load(ctx, Options{}); !errors.Is(err, context.Canceled) || fault.CodeOf(err) != fault.Interrupted {
			t.Errorf("%s: %v, exit code %d", name, err, fault.CodeOf(err))
		}
	}
}

// signOn stands for the servers of single sign-on: they answer with a status and
// the name of an error.
func signOn(t *testing.T, status int, code string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error": "refused", "message": "refused"}`)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_SSO", server.URL)
	t.Setenv("AWS_ENDPOINT_URL_SSO_OIDC", server.URL)
}

const signOnConfig = `[profile work]
sso_session = corp
sso_account_id = 111122223333
sso_role_name = Admin
region = us-east-1
[sso-session corp]
sso_start_url = https://example.com/start
sso_region = us-east-1
[profile old]
sso_start_url = https://example.com/start
sso_region = us-east-1
sso_account_id = 111122223333
sso_role_name = Admin
`

func TestSignOn(t *testing.T) {
	const login = "aws sso login --profile work"
	token := func(expires, refresh string) string {
		return fmt.Sprintf(`{"startUrl": "https://example.com/start", "region": "us-east-1", "accessToken": "a", "expiresAt": %q%s}`, expires, refresh)
	}
	refresh := `, "clientId": "c", "clientSecret": "s", "refreshToken": "r", "registrationExpiresAt": "2099-01-01T00:00:00Z"`
	for name, test := range map[string]struct {
		token  string
		status int
		code   string
		kind   Kind
		hint   string
	}{
		"no token":                {"", 500, "", Expired, login},
		"an expired token":        {token("2020-01-01T00:00:00Z", ""), 500, "", Expired, login},
		"refresh is refused":      {token("2020-01-01T00:00:00Z", refresh), 400, "InvalidGrantException", Expired, login},
		"the client has expired":  {token("2020-01-01T00:00:00Z", refresh), 401, "ExpiredTokenException", Expired, login},
		"the session was ended":   {token("2099-01-01T00:00:00Z", ""), 401, "UnauthorizedException", Expired, login},
		"another role":            {token("2099-01-01T00:00:00Z", ""), 403, "ForbiddenException", Denied, "sso:GetRoleCredentials"},
		"a server that is broken": {token("2099-01-01T00:00:00Z", ""), 500, "InternalError", Server, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := isolate(t, signOnConfig)
			t.Setenv("AWS_MAX_ATTEMPTS", "1")
			signOn(t, test.status, test.code)
			if test.token != "" {
				sum := sha1.Sum([]byte("corp")) //nolint:gosec // as the SDK names its files
				writeFile(t, filepath.Join(home, ".aws/sso/cache", hex.EncodeToString(sum[:])+".json"), test.token)
			}
			_, err := Load(t.Context(), Options{Profile: "work"})
			if hints := strings.Join(fault.HintsOf(err), " "); KindOf(err) != test.kind || !strings.Contains(hints, test.hint) || test.hint == "" && hints != "" {
				t.Errorf("%v is %q with hints %q, want %q with %q", err, KindOf(err), hints, test.kind, test.hint)
			}
		})
	}
	t.Run("no session in the profile", func(t *testing.T) {
		isolate(t, signOnConfig)
		t.Setenv("AWS_PROFILE", "old")
		_, err := Load(t.Context(), Options{})
		if hints := strings.Join(fault.HintsOf(err), " "); KindOf(err) != Expired || hints != "aws sso login --profile old" {
			t.Errorf("%v is %q with hints %q", err, KindOf(err), hints)
		}
	})
}

func TestRoleRefused(t *testing.T) {
	err := Explain(fmt.Errorf("finding AWS credentials: %w", answered("STS", "AssumeRole", "AccessDenied", "no", 403)))
	if KindOf(err) != Denied || !strings.Contains(strings.Join(fault.HintsOf(err), ""), "sts:AssumeRole") {
		t.Errorf("a refused role: %q, hints %q", KindOf(err), fault.HintsOf(err))
	}
}
