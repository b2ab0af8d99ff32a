package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyAPostOfTheSameSitePausesAndResumes(t *testing.T) {
	t.Parallel()
	type call struct {
		Target string
		Paused bool
	}
	for name, test := range map[string]struct {
		method, path, site string
		code               int
		want               []call
	}{
		"one target is paused":                   {http.MethodPost, "/-/pause?target=a", "", 200, []call{{"a", true}}},
		"all targets are paused":                 {http.MethodPost, "/-/pause", "", 200, []call{{"", true}}},
		"one target is resumed":                  {http.MethodPost, "/-/resume?target=a", "same-origin", 200, []call{{"a", false}}},
		"a target that is not there is told":     {http.MethodPost, "/-/pause?target=x", "", 404, []call{{"x", true}}},
		"a page of another site changes nothing": {http.MethodPost, "/-/pause", "cross-site", 403, nil},
		"reading changes nothing":                {http.MethodGet, "/-/pause", "", 405, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []call
			o := options()
			o.Pause = func(target string, paused bool) error {
				got = append(got, call{target, paused})
				if target == "x" {
					return errors.New(`there is no target "x"`)
				}
				return nil
			}
			request := httptest.NewRequestWithContext(t.Context(), test.method, test.path, http.NoBody)
			if test.site != "" {
				request.Header.Set("Sec-Fetch-Site", test.site)
			}
			w := httptest.NewRecorder()
			newHandler(t, o).ServeHTTP(w, request)
			if w.Code != test.code {
				t.Errorf("code %d, want %d: %s", w.Code, test.code, w.Body)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThereIsNoAdministrationUnlessItIsAskedFor(t *testing.T) {
	t.Parallel()
	if resp, _ := ask(t, newHandler(t, options()), http.MethodPost, "/-/pause"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("code %d", resp.StatusCode)
	}
}
