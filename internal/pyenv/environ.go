package pyenv

import (
	"slices"
	"strings"
)

// uvDecisions are uv's variables that say what is installed and where. Those
// that say how to reach packages (indexes, proxies, certificates, credentials,
// cache, time-outs) are the user's and pass through.
var uvDecisions = []string{
	"UV_BREAK_SYSTEM_PACKAGES", "UV_BUILD_CONSTRAINT", "UV_COMPILE_BYTECODE", "UV_CONSTRAINT", "UV_ENV_FILE",
	"UV_EXCLUDE", "UV_EXCLUDE_NEWER", "UV_FORK_STRATEGY", "UV_ISOLATED", "UV_MANAGED_PYTHON", "UV_NO_BINARY",
	"UV_NO_BINARY_PACKAGE", "UV_NO_BUILD", "UV_NO_BUILD_PACKAGE", "UV_NO_MANAGED_PYTHON", "UV_NO_VERIFY_HASHES",
	"UV_OVERRIDE", "UV_PRERELEASE", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON", "UV_PYTHON_DOWNLOADS",
	"UV_PYTHON_PREFERENCE", "UV_REQUIRE_HASHES", "UV_RESOLUTION", "UV_SYSTEM_PYTHON", "UV_TORCH_BACKEND",
	"UV_VENV_CLEAR", "UV_VENV_RELOCATABLE", "UV_VENV_SEED", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY",
}

// pipToUV translates what a user told pip about reaching packages for uv,
// which reads none of pip's variables or files. A variable is translated
// unless one of the unless is set.
var pipToUV = []struct {
	pip, uv string
	unless  []string
}{
	{"PIP_INDEX_URL", "UV_DEFAULT_INDEX", []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL"}},
	{"PIP_EXTRA_INDEX_URL", "UV_INDEX", []string{"UV_INDEX", "UV_EXTRA_INDEX_URL"}},
	{"PIP_TRUSTED_HOST", "UV_INSECURE_HOST", []string{"UV_INSECURE_HOST"}},
	{"PIP_CERT", "SSL_CERT_FILE", []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}},
	{"PIP_PROXY", "ALL_PROXY", []string{"ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "https_proxy", "http_proxy"}},
}

// toolEnviron is environ for the programs that make and check an environment:
// nothing in it points them to another Python, keeps bytecode from being
// written, or colours what they print.
func toolEnviron(environ []string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return redirects(name) || slices.Contains(uvDecisions, name)
	})
	return append(kept, "NO_COLOR=1", "UV_PYTHON_DOWNLOADS=never")
}

func redirects(name string) bool {
	switch name {
	case "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE":
		return true
	}
	return strings.HasPrefix(name, "PYTHON") || strings.HasPrefix(name, "CONDA")
}

// uvEnviron is toolEnviron with pip's settings in uv's words.
func uvEnviron(environ []string) []string {
	env := toolEnviron(environ)
	for _, t := range pipToUV {
		value := lookupEnv(environ, t.pip)
		set := slices.ContainsFunc(t.unless, func(name string) bool { return lookupEnv(environ, name) != "" })
		if value != "" && !set {
			env = append(env, t.uv+"="+value)
		}
	}
	return env
}

// onlyIndex is uvEnviron with url as the one place that packages come from. It
// goes by the environment because a URL may hold a password, and everybody on
// a machine can read everybody's command lines.
func onlyIndex(environ []string, url string) []string {
	env := slices.DeleteFunc(uvEnviron(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX":
			return true
		}
		return false
	})
	return append(env, "UV_DEFAULT_INDEX="+url)
}

// lookupEnv returns the value of name, the last one as in os/exec.
func lookupEnv(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
