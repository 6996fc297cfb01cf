package deploy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const margin = 5 * time.Second // of an orchestrator, beyond the stop of the process

// What selects pods selects those that there are, and one of three may be evicted at a time.
func TestSelectorsMatch(t *testing.T) {
	t.Parallel()
	m := decoded(t)
	pods := map[string]map[string]string{}
	for name, d := range m.deployments {
		pods[name] = d.Spec.Template.Labels
		require.Equal(t, pods[name], d.Spec.Selector.MatchLabels)
		require.EqualValues(t, 3, *d.Spec.Replicas)
		spread(t, d.Spec.Template)
	}
	for name, s := range m.statefulSets {
		pods[name] = s.Spec.Template.Labels
		require.Equal(t, pods[name], s.Spec.Selector.MatchLabels)
		require.EqualValues(t, 3, *s.Spec.Replicas)
		spread(t, s.Spec.Template)
	}
	require.ElementsMatch(t, []string{"letters", "zk"}, slices.Collect(maps.Keys(pods)))
	for name, labels := range pods {
		require.Equal(t, labels, m.services[name].Spec.Selector)
		require.Equal(t, labels, m.budgets[name].Spec.Selector.MatchLabels)
		require.Equal(t, intstr.FromInt32(1), *m.budgets[name].Spec.MaxUnavailable)
	}
	require.Len(t, m.services, len(pods))
	require.Len(t, m.budgets, len(pods))
}

func spread(t *testing.T, of corev1.PodTemplateSpec) {
	t.Helper()
	for _, c := range of.Spec.TopologySpreadConstraints {
		require.Equal(t, of.Labels, c.LabelSelector.MatchLabels)
		require.Equal(t, corev1.LabelHostname, c.TopologyKey)
	}
	require.NotEmpty(t, of.Spec.TopologySpreadConstraints)
}

// Each server has a name that its pod gets, in its own list and in that of the clients.
func TestEachServerHasAName(t *testing.T) {
	t.Parallel()
	m := decoded(t)
	set := m.statefulSets["zk"]
	service := m.services[set.Spec.ServiceName]
	require.Equal(t, corev1.ClusterIPNone, service.Spec.ClusterIP)
	require.True(t, service.Spec.PublishNotReadyAddresses)
	server := only(t, set.Spec.Template)
	ports := portsOf(server)
	var peers, clients []string
	for i := range *set.Spec.Replicas {
		host := fmt.Sprintf("%s-%d.%s", set.Name, i, service.Name)
		peers = append(peers, fmt.Sprintf("server.%d=%s:%d:%d;%d", i+1, host, ports["follower"], ports["election"], ports["client"]))
		clients = append(clients, fmt.Sprintf("%s:%d", host, ports["client"]))
	}
	require.Equal(t, peers, strings.Fields(env(server)["ZOO_SERVERS"]))
	require.Equal(t, strings.Join(clients, ","), flags(t, only(t, m.deployments["letters"].Spec.Template).Args)["zk"])
	require.Contains(t, server.Command[2], "let ZOO_MY_ID=${HOSTNAME##*-}+1;")
	require.Contains(t, server.ReadinessProbe.Exec.Command[2], fmt.Sprintf("/dev/tcp/127.0.0.1/%d;", ports["client"]))

	var claimed, mounted []string
	for _, c := range set.Spec.VolumeClaimTemplates {
		claimed = append(claimed, c.Name)
	}
	for _, v := range server.VolumeMounts {
		mounted = append(mounted, v.Name)
		require.Equal(t, "/"+v.Name, v.MountPath)
	}
	require.Equal(t, []string{"data", "datalog"}, claimed)
	require.Equal(t, claimed, mounted)
}

// Ports are named, and those of a Service and of a probe are ports of the container.
func TestPorts(t *testing.T) {
	t.Parallel()
	m := decoded(t)
	letters := only(t, m.deployments["letters"].Spec.Template)
	for name, c := range map[string]corev1.Container{"letters": letters, "zk": only(t, m.statefulSets["zk"].Spec.Template)} {
		require.NotEmpty(t, m.services[name].Spec.Ports)
		for _, p := range m.services[name].Spec.Ports {
			require.Contains(t, portsOf(c), p.TargetPort.StrVal)
		}
	}
	require.Equal(t, fmt.Sprintf(":%d", portsOf(letters)["http"]), flags(t, letters.Args)["http"])
}

// The page and metrics stay where the example serves them: on loopback, in the pod alone.
func TestThePageStaysOnLoopback(t *testing.T) {
	t.Parallel()
	main := read(t, "examples/service/main.go")
	require.Equal(t, []string{"127.0.0.1:6060"}, first(main, `flag\.String\("debug", "([^"]*)"`))
	require.Contains(t, main, "serving(*address, *debug, ")
	letters := only(t, decoded(t).deployments["letters"].Spec.Template)
	require.NotContains(t, flags(t, letters.Args), "debug")
	require.NotContains(t, flags(t, composed(t).Services["letters"].Command), "debug")
	require.Equal(t, map[string]int32{"http": 8080}, portsOf(letters))
	require.Contains(t, read(t, "docs/kubernetes.md"), "kubectl port-forward deployment/letters 6060:6060\n")
}

// Probes ask for what the example serves. Its processes are all ready, whoever leads, and live
// without ZooKeeper.
func TestProbes(t *testing.T) {
	t.Parallel()
	c := only(t, decoded(t).deployments["letters"].Spec.Template)
	served := first(read(t, "examples/service/http.go"), `"GET (/\w+)"`)
	require.ElementsMatch(t, []string{"/ready", "/live", "/leading"}, served)
	for probe, path := range map[*corev1.Probe]string{c.StartupProbe: "/live", c.ReadinessProbe: "/ready", c.LivenessProbe: "/live"} {
		require.Equal(t, path, probe.HTTPGet.Path)
		require.Contains(t, served, path)
		require.Contains(t, portsOf(c), probe.HTTPGet.Port.StrVal)
	}
	require.Contains(t, read(t, "examples/service/http.go"), "health.WithGrace(grace)")
	start := time.Duration(c.StartupProbe.PeriodSeconds*c.StartupProbe.FailureThreshold) * time.Second
	require.Greater(t, start, 15*time.Second, "fx's start timeout, which the example leaves as it is")
	require.NotContains(t, read(t, "examples/service/main.go"), "StartTimeout")
}

// An orchestrator kills no process that is still stopping in order.
func TestAStopIsWaitedFor(t *testing.T) {
	t.Parallel()
	deployment := decoded(t).deployments["letters"].Spec
	require.Equal(t, intstr.FromInt32(0), *deployment.Strategy.RollingUpdate.MaxUnavailable, "the next one is ready by then")
	pod := deployment.Template.Spec
	require.Equal(t, stopTimeout(t)+margin, time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second)
	before := time.Duration(pod.Containers[0].Lifecycle.PreStop.Sleep.Seconds) * time.Second
	require.Less(t, before, margin)
	kept, err := time.ParseDuration(composed(t).Services["letters"].StopGracePeriod)
	require.NoError(t, err)
	require.Equal(t, stopTimeout(t)+margin, kept)
}

// A process says in znodes which pod it is.
func TestAProcessHasItsPodsName(t *testing.T) {
	t.Parallel()
	c := only(t, decoded(t).deployments["letters"].Spec.Template)
	require.Equal(t, "$(POD_NAME)", flags(t, c.Args)["name"])
	require.Len(t, c.Env, 1)
	require.Equal(t, "POD_NAME", c.Env[0].Name)
	require.Equal(t, "metadata.name", c.Env[0].ValueFrom.FieldRef.FieldPath)
}

// Memory has a limit, the CPU has none; nobody is root or can become it, or has a token of the
// cluster.
func TestLimitsAndRights(t *testing.T) {
	t.Parallel()
	m := decoded(t)
	for _, pod := range []corev1.PodTemplateSpec{m.deployments["letters"].Spec.Template, m.statefulSets["zk"].Spec.Template} {
		c, s := only(t, pod), pod.Spec.SecurityContext
		require.NotZero(t, c.Resources.Limits.Memory().Value())
		require.NotContains(t, c.Resources.Limits, corev1.ResourceCPU)
		require.NotZero(t, c.Resources.Requests.Cpu().MilliValue())
		require.False(t, *pod.Spec.AutomountServiceAccountToken)
		require.True(t, *s.RunAsNonRoot)
		require.NotZero(t, *s.RunAsUser)
		require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, s.SeccompProfile.Type)
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
		require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
	}
}

// The file for compose has the same image of ZooKeeper and the same flags, and opens ports on
// loopback alone.
func TestCompose(t *testing.T) {
	t.Parallel()
	c, m := composed(t), decoded(t)
	zookeeper := only(t, m.statefulSets["zk"].Spec.Template)
	var peers, clients, volumes []string
	for i, name := range []string{"zk1", "zk2", "zk3"} {
		is := c.Services[name]
		require.Equal(t, zookeeper.Image, is.Image)
		require.Equal(t, zookeeper.ReadinessProbe.Exec.Command, is.Healthcheck.Test[1:])
		require.Equal(t, fmt.Sprint(i+1), is.Environment["ZOO_MY_ID"])
		require.Empty(t, is.Ports)
		require.Equal(t, "service_healthy", c.Services["letters"].DependsOn[name].Condition)
		peers = append(peers, fmt.Sprintf("server.%d=%s:2888:3888;2181", i+1, name))
		clients = append(clients, name+":2181")
		for _, v := range is.Volumes {
			volume, at, _ := strings.Cut(v, ":")
			require.Equal(t, name+"-"+at[1:], volume)
			volumes = append(volumes, volume)
		}
	}
	for _, name := range []string{"zk1", "zk2", "zk3"} {
		require.Equal(t, peers, strings.Fields(c.Services[name].Environment["ZOO_SERVERS"]))
	}
	require.ElementsMatch(t, volumes, slices.Collect(maps.Keys(c.Volumes)))
	require.Len(t, volumes, 6)

	letters := c.Services["letters"]
	require.Equal(t, strings.Join(clients, ","), flags(t, letters.Command)["zk"])
	_, port, _ := strings.Cut(flags(t, letters.Command)["http"], ":")
	require.Len(t, letters.Ports, 1)
	require.Regexp(t, `^127\.0\.0\.1:\d+-\d+:`+port+`$`, letters.Ports[0])
	require.Contains(t, first(read(t, letters.Build.Dockerfile), `(?m)^FROM \S+ AS (\w+)$`), letters.Build.Target)
	require.Len(t, c.Services, 4)
}

// Images are pinned by a full version at least, and programs are static and not root's. Go is of
// the release that the module names.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	file := read(t, "deploy/Dockerfile")
	release := first(read(t, "go.mod"), `(?m)^go (1\.\d+)\.0$`)
	require.Len(t, release, 1)
	bases := first(file, `(?m)^FROM (\S+) AS \w+$`)
	require.Len(t, bases, 3)
	require.Regexp(t, `^docker\.io/library/golang:`+release[0]+`\.\d+(@sha256:[0-9a-f]{64})?$`, bases[0])
	require.Equal(t, []string{"scratch", "scratch"}, bases[1:])
	require.Equal(t, []string{"65532:65532", "65532:65532"}, first(file, `(?m)^USER (.*)$`))
	require.EqualValues(t, 65532, *decoded(t).deployments["letters"].Spec.Template.Spec.SecurityContext.RunAsUser)
	require.Contains(t, file, "\nENV CGO_ENABLED=0\n")
	require.True(t, strings.HasSuffix(file, "ENTRYPOINT [\"/troupe\"]\n"), "troupe is what is built without a target")
	require.Regexp(t, `^docker\.io/library/zookeeper:3\.9\.\d+$`, only(t, decoded(t).statefulSets["zk"].Spec.Template).Image)
}

func composed(t *testing.T) (c composition) {
	t.Helper()
	strict(t, []byte(read(t, "deploy/compose.yaml")), &c)
	return c
}

func only(t *testing.T, of corev1.PodTemplateSpec) corev1.Container {
	t.Helper()
	require.Len(t, of.Spec.Containers, 1)
	return of.Spec.Containers[0]
}

func portsOf(c corev1.Container) map[string]int32 {
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	return ports
}

func env(c corev1.Container) map[string]string {
	values := map[string]string{}
	for _, e := range c.Env {
		values[e.Name] = e.Value
	}
	return values
}

// flags are arguments of the example, each of which it has to know.
func flags(t *testing.T, args []string) map[string]string {
	t.Helper()
	known := first(read(t, "examples/service/main.go"), `flag\.String\("(\w+)"`)
	given := map[string]string{}
	for _, arg := range args {
		name, value, has := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		require.True(t, has, arg)
		require.Contains(t, known, name)
		given[name] = value
	}
	return given
}
