package deploy_test

// What the tests read: manifests, the file for compose, and facts from the source of the example.

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const root = "../../"

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + name)
	require.NoError(t, err)
	return string(text)
}

// strict decodes YAML: a field that the type lacks, or that is given twice, fails the test, and so
// does one that is written in other capitals.
func strict(t *testing.T, text []byte, into any) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(text)
	require.NoError(t, err)
	unknown, err := kjson.UnmarshalStrict(asJSON, into)
	require.NoError(t, err)
	require.Empty(t, unknown)
}

// manifests are all objects of deploy/kubernetes, by kind and name.
type manifests struct {
	deployments  map[string]*appsv1.Deployment
	statefulSets map[string]*appsv1.StatefulSet
	services     map[string]*corev1.Service
	budgets      map[string]*policyv1.PodDisruptionBudget
}

func decoded(t *testing.T) manifests {
	t.Helper()
	m := manifests{
		map[string]*appsv1.Deployment{},
		map[string]*appsv1.StatefulSet{},
		map[string]*corev1.Service{},
		map[string]*policyv1.PodDisruptionBudget{},
	}
	names, err := filepath.Glob(root + "deploy/kubernetes/*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var is struct{ APIVersion, Kind string }
			require.NoError(t, yaml.Unmarshal(part, &is), name)
			switch is.APIVersion + " " + is.Kind {
			case "apps/v1 Deployment":
				one(t, part, m.deployments, func(o *appsv1.Deployment) string { return o.Name })
			case "apps/v1 StatefulSet":
				one(t, part, m.statefulSets, func(o *appsv1.StatefulSet) string { return o.Name })
			case "v1 Service":
				one(t, part, m.services, func(o *corev1.Service) string { return o.Name })
			case "policy/v1 PodDisruptionBudget":
				one(t, part, m.budgets, func(o *policyv1.PodDisruptionBudget) string { return o.Name })
			default:
				t.Fatalf("%s: nobody checks %+v", name, is)
			}
		}
	}
	return m
}

func one[T any](t *testing.T, text []byte, into map[string]*T, name func(*T) string) {
	t.Helper()
	o := new(T)
	strict(t, text, o)
	require.NotEmpty(t, name(o))
	require.NotContains(t, into, name(o))
	into[name(o)] = o
}

// composition is what deploy/compose.yaml uses of the format of compose files.
type composition struct {
	Name        string              `json:"name"`
	ZooKeeper   member              `json:"x-zookeeper"`
	Environment map[string]string   `json:"x-environment"`
	Services    map[string]member   `json:"services"`
	Volumes     map[string]struct{} `json:"volumes"`
}

type member struct {
	Image string `json:"image"`
	Build *struct {
		Context    string `json:"context"`
		Dockerfile string `json:"dockerfile"`
		Target     string `json:"target"`
	} `json:"build"`
	Command         []string          `json:"command"`
	Environment     map[string]string `json:"environment"`
	Volumes         []string          `json:"volumes"`
	Ports           []string          `json:"ports"`
	Restart         string            `json:"restart"`
	StopGracePeriod string            `json:"stop_grace_period"`
	ReadOnly        bool              `json:"read_only"`
	CapDrop         []string          `json:"cap_drop"`
	SecurityOpt     []string          `json:"security_opt"`
	Healthcheck     *struct {
		Test     []string `json:"test"`
		Interval string   `json:"interval"`
		Timeout  string   `json:"timeout"`
		Retries  int      `json:"retries"`
	} `json:"healthcheck"`
	Deploy *struct {
		Replicas int `json:"replicas"`
	} `json:"deploy"`
	DependsOn map[string]struct {
		Condition string `json:"condition"`
	} `json:"depends_on"`
}

// stopTimeout is that of the example.
func stopTimeout(t *testing.T) time.Duration {
	t.Helper()
	found := regexp.MustCompile(`fx\.StopTimeout\((\d+)\*time\.Second\)`).FindStringSubmatch(read(t, "examples/service/main.go"))
	require.Len(t, found, 2)
	seconds, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return time.Duration(seconds) * time.Second
}

// first are what the pattern's group matches.
func first(text, pattern string) (all []string) {
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}
