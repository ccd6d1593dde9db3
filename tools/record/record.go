// Record what kube-scheduler decides: cases in, decisions out, one JSON object a line.
//
// It runs the scheduler's own cache, plugins and preemption on a client that is a few maps, with everything else off:
// one worker, every node evaluated, preemption while it is waited for. `-gates` prints the feature gates instead.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const (
	tries     = 64
	moreTries = 1000
	manyNodes = 100
	poll      = 2 * time.Millisecond
	patience  = 60 * time.Second
	// A fake watch holds a hundred events before somebody reads them.
	burst = 40
)

type testCase struct {
	Name     string            `json:"name"`
	Config   json.RawMessage   `json:"config"`
	Objects  []json.RawMessage `json:"objects"`
	Schedule []string          `json:"schedule"`
	Gates    map[string]bool   `json:"gates"`
	Bind     bool              `json:"bind"`
	Script   json.RawMessage   `json:"script"`
}

type status struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

type outcome struct {
	Node        string   `json:"node"`
	Victims     []string `json:"victims"`
	Message     string   `json:"message,omitempty"`
	Deallocated string   `json:"deallocated,omitempty"`
}

type decision struct {
	Pod             string                      `json:"pod"`
	Error           string                      `json:"error,omitempty"`
	Errors          map[string]string           `json:"errors,omitempty"`
	PreFilter       *status                     `json:"preFilter,omitempty"`
	Rejected        map[string]status           `json:"rejected,omitempty"`
	Feasible        []string                    `json:"feasible"`
	Scores          map[string]map[string]int64 `json:"scores,omitempty"`
	Totals          map[string]int64            `json:"totals,omitempty"`
	Best            []string                    `json:"best,omitempty"`
	Chosen          string                      `json:"chosen,omitempty"`
	Claims          []reservedClaim             `json:"claims,omitempty"`
	RequestMappings []requestMapping            `json:"requestMappings,omitempty"`
	Waits           bool                        `json:"waits,omitempty"`
	BindError       string                      `json:"bindError,omitempty"`
	Message         string                      `json:"message,omitempty"`
	Preemption      []outcome                   `json:"preemption,omitempty"`
}

func main() {
	gates := flag.Bool("gates", false, "print every feature gate, and what is on by default")
	flag.Parse()
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	if err := run(*gates); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(gates bool) error {
	gate := utilfeature.DefaultMutableFeatureGate
	if err := errors.Join(logsapi.AddFeatureGates(gate), metricsfeatures.AddFeatureGates(gate)); err != nil {
		return err
	}
	if gates {
		return printGates()
	}
	defaults := map[string]bool{}
	for name := range gate.GetAll() {
		defaults[string(name)] = gate.Enabled(name)
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			if failure := record(line, defaults, out); failure != nil {
				return failure
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func record(line []byte, defaults map[string]bool, out *json.Encoder) error {
	var entry struct {
		Case json.RawMessage `json:"case"`
	}
	var tested testCase
	if err := json.Unmarshal(line, &entry); err != nil {
		return err
	}
	if err := json.Unmarshal(entry.Case, &tested); err != nil {
		return err
	}
	if tested.Script != nil {
		fmt.Fprintf(os.Stderr, "%s: left out: scripts are not recorded\n", tested.Name)
		return nil
	}
	set := map[string]bool{"SchedulerAsyncPreemption": false}
	for name, on := range tested.Gates {
		set[name] = on
	}
	gate := utilfeature.DefaultMutableFeatureGate
	if err := gate.SetFromMap(set); err != nil {
		return fmt.Errorf("%s: %w", tested.Name, err)
	}
	decisions, err := decide(tested)
	for name := range set {
		set[name] = defaults[name]
	}
	if err := errors.Join(err, gate.SetFromMap(set)); err != nil {
		return fmt.Errorf("%s: %w", tested.Name, err)
	}
	return out.Encode(map[string]any{"case": entry.Case, "expect": decisions})
}

// cluster is a scheduler on a client of maps; what would be evicted is written down instead.
type cluster struct {
	client  *fake.Clientset
	sched   *scheduler.Scheduler
	lister  informers.SharedInformerFactory
	server  *claimServer
	binds   bool
	mutex   sync.Mutex
	evicted []string

	// What has to be seen before a decision is taken.
	created   map[schema.GroupVersionResource]int
	nominated map[string]int
	assigned  int
	nodes     int
}

func decide(tested testCase) ([]decision, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	defer cancel()
	world, err := start(ctx, tested)
	if err != nil {
		return nil, err
	}
	decisions := []decision{}
	for _, key := range tested.Schedule {
		made, err := world.decide(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", key, err)
		}
		decisions = append(decisions, made)
	}
	return decisions, nil
}

func start(ctx context.Context, tested testCase) (*cluster, error) {
	world := &cluster{
		client:    fake.NewSimpleClientset(),
		binds:     tested.Bind,
		created:   map[schema.GroupVersionResource]int{},
		nominated: map[string]int{},
	}
	world.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		removed := action.(clienttesting.DeleteAction)
		world.mutex.Lock()
		defer world.mutex.Unlock()
		world.evicted = append(world.evicted, removed.GetNamespace()+"/"+removed.GetName())
		return true, nil, nil
	})
	world.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &v1.Pod{}, nil
	})
	world.server = &claimServer{tracker: world.client.Tracker()}
	world.client.PrependReactor("*", "resourceclaims", world.server.react)
	configured, err := configuration(tested.Config)
	if err != nil {
		return nil, err
	}
	every := int32(100)
	for index := range configured.Profiles {
		configured.Profiles[index].PercentageOfNodesToScore = nil
	}
	world.lister = informers.NewSharedInformerFactory(world.client, 0)
	recorder := func(string) events.EventRecorderLogger { return &listener{server: world.server} }
	world.sched, err = scheduler.New(ctx, world.client, world.lister, nil, recorder,
		scheduler.WithProfiles(configured.Profiles...),
		scheduler.WithParallelism(1),
		scheduler.WithPercentageOfNodesToScore(&every),
	)
	if err != nil {
		return nil, err
	}
	world.lister.Start(ctx.Done())
	world.lister.WaitForCacheSync(ctx.Done())
	return world, world.fill(ctx, tested.Objects)
}

func configuration(given json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	text := []byte(given)
	if len(text) == 0 || string(text) == "null" {
		text = []byte(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}`)
	}
	decoded := &config.KubeSchedulerConfiguration{}
	return decoded, runtime.DecodeInto(configscheme.Codecs.UniversalDecoder(), text, decoded)
}

// fill creates the objects in their order, waiting now and then until everybody has heard of them: pods stand in the
// scheduler's lists in the order in which they come, and the order of victims follows it.
func (world *cluster) fill(ctx context.Context, objects []json.RawMessage) error {
	for index, text := range objects {
		object, kind, err := clientscheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return err
		}
		if pod, is := object.(*v1.Pod); is && !world.expect(pod) {
			continue
		}
		if _, is := object.(*v1.Node); is {
			world.nodes++
		}
		if err := world.create(ctx, object, *kind); err != nil {
			return err
		}
		if index%burst == burst-1 {
			if err := world.settle(ctx); err != nil {
				return err
			}
		}
	}
	return world.settle(ctx)
}

// expect counts where a pod will have to show up; false for one that has ended.
func (world *cluster) expect(pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return false
	}
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	}
	switch {
	case pod.Spec.NodeName != "":
		world.assigned++
	case pod.Status.NominatedNodeName != "" && world.sched.Profiles[pod.Spec.SchedulerName] != nil:
		world.nominated[pod.Status.NominatedNodeName]++
	}
	return true
}

func (world *cluster) create(ctx context.Context, object runtime.Object, kind schema.GroupVersionKind) error {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if informer, err := world.lister.ForResource(resource); err == nil && world.created[resource] == 0 {
		informer.Informer()
		world.lister.Start(ctx.Done())
		world.lister.WaitForCacheSync(ctx.Done())
	}
	world.created[resource]++
	if resource == claimsResource {
		accessor.SetResourceVersion(world.server.next())
	}
	return world.client.Tracker().Create(resource, object, accessor.GetNamespace())
}

// settle waits until informers, cache and queue hold what was created.
func (world *cluster) settle(ctx context.Context) error {
	deadline := time.Now().Add(patience)
	for !world.settled() {
		if time.Now().After(deadline) {
			return errors.New("the scheduler never heard of all objects")
		}
		time.Sleep(poll)
	}
	// Plugins keep caches of their own behind the informers.
	time.Sleep(5 * poll)
	return ctx.Err()
}

func (world *cluster) settled() bool {
	for resource, count := range world.created {
		informer, err := world.lister.ForResource(resource)
		if err == nil && len(informer.Informer().GetStore().ListKeys()) < count {
			return false
		}
	}
	if !world.devicesSettled() {
		return false
	}
	pods, err := world.sched.Cache.PodCount()
	if err != nil || pods < world.assigned {
		return false
	}
	// The cache counts nodes, too, that only their pods have spoken of so far. (A snapshot would not; but one that is
	// taken too early keeps what it says of images for good.)
	nodes := 0
	for _, node := range world.sched.Cache.Dump().Nodes {
		if node.Node() != nil {
			nodes++
		}
	}
	if nodes < world.nodes {
		return false
	}
	for node, count := range world.nominated {
		if len(world.sched.SchedulingQueue.NominatedPodsForNode(node)) < count {
			return false
		}
	}
	return true
}

// refresh brings the snapshot that plugins read up to date.
func (world *cluster) refresh(ctx context.Context) error {
	for _, profile := range world.sched.Profiles {
		snapshot, is := profile.SnapshotSharedLister().(*cache.Snapshot)
		if !is {
			break
		}
		return world.sched.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot)
	}
	return errors.New("the plugins read another snapshot than the scheduler's")
}

func (world *cluster) decide(ctx context.Context, key string) (decision, error) {
	namespace, name, _ := strings.Cut(key, "/")
	pod, err := world.lister.Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil {
		return decision{}, err
	}
	profile := world.sched.Profiles[pod.Spec.SchedulerName]
	if profile == nil {
		return decision{}, fmt.Errorf("no profile %q", pod.Spec.SchedulerName)
	}
	if err := world.refresh(ctx); err != nil {
		return decision{}, err
	}
	made := decision{Pod: key, Feasible: []string{}}
	// What is malformed in its terms is found again, and told, by the plugin.
	info, _ := framework.NewPodInfo(pod)
	state := framework.NewCycleState()
	_, err = world.sched.SchedulePod(ctx, profile, state, &framework.QueuedPodInfo{PodInfo: info})
	var misfit *framework.FitError
	if err != nil && !errors.As(err, &misfit) {
		made.Error = err.Error()
		if errors.Is(err, scheduler.ErrNoNodesAvailable) {
			made.Error, made.Message = "", err.Error()
			return made, nil
		}
		_, err = world.filter(ctx, profile, framework.NewCycleState(), pod, &made)
		// Which node is looked at first decides which error it is; the others say nothing of it.
		made.PreFilter, made.Rejected, made.Feasible = nil, nil, []string{}
		return made, err
	}
	again := framework.NewCycleState()
	feasible, err := world.filter(ctx, profile, again, pod, &made)
	if err != nil {
		return made, err
	}
	if misfit != nil {
		made.Message = misfit.Error()
		if profile.HasPostFilterPlugins() {
			made.Preemption = world.preempt(ctx, profile, state, pod, misfit)
		}
		return made, nil
	}
	return made, world.place(ctx, profile, again, pod, feasible, &made)
}

// filter asks every node anew: the scheduler itself keeps only what it needs.
func (world *cluster) filter(
	ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, made *decision,
) ([]fwk.NodeInfo, error) {
	narrowed, refused, _ := profile.RunPreFilterPlugins(ctx, state, pod)
	if !refused.IsSuccess() {
		if refused.Plugin() != "" {
			made.PreFilter = &status{refused.Code().String(), refused.Plugin(), refused.Reasons()}
		}
		return nil, nil
	}
	nodes, err := profile.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, err
	}
	if promised, err := profile.SnapshotSharedLister().NodeInfos().Get(pod.Status.NominatedNodeName); err == nil {
		if profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, promised).IsSuccess() {
			made.Feasible = []string{promised.Node().Name}
			return []fwk.NodeInfo{promised}, nil
		}
	}
	feasible := []fwk.NodeInfo{}
	for _, node := range nodes {
		name := node.Node().Name
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			continue
		}
		verdict := profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if verdict.IsSuccess() {
			feasible = append(feasible, node)
			made.Feasible = append(made.Feasible, name)
			continue
		}
		if verdict.Code() == fwk.Error {
			if made.Errors == nil {
				made.Errors = map[string]string{}
			}
			made.Errors[name] = verdict.AsError().Error()
			continue
		}
		if made.Rejected == nil {
			made.Rejected = map[string]status{}
		}
		made.Rejected[name] = status{verdict.Code().String(), verdict.Plugin(), verdict.Reasons()}
	}
	slices.Sort(made.Feasible)
	return feasible, nil
}

// place scores the nodes that fit, and has the pod count on the first of the best by name.
func (world *cluster) place(
	ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, feasible []fwk.NodeInfo,
	made *decision,
) error {
	if failed := profile.RunPreScorePlugins(ctx, state, pod, feasible); !failed.IsSuccess() {
		return failed.AsError()
	}
	scored, failed := profile.RunScorePlugins(ctx, state, pod, feasible)
	if !failed.IsSuccess() {
		return failed.AsError()
	}
	made.Scores, made.Totals = map[string]map[string]int64{}, map[string]int64{}
	for _, node := range scored {
		made.Totals[node.Name] = node.TotalScore
		made.Scores[node.Name] = map[string]int64{}
		for _, one := range node.Scores {
			made.Scores[node.Name][one.Name] = one.Score
		}
	}
	highest := scored[0].TotalScore
	for _, total := range made.Totals {
		highest = max(highest, total)
	}
	for name, total := range made.Totals {
		if total == highest {
			made.Best = append(made.Best, name)
		}
	}
	slices.Sort(made.Best)
	made.Chosen = made.Best[0]
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = made.Chosen
	logger := klog.FromContext(ctx)
	if err := world.sched.Cache.AssumePod(logger, assumed); err != nil {
		return err
	}
	world.sched.SchedulingQueue.DeleteNominatedPodIfExists(pod)
	if refused := profile.RunReservePluginsReserve(ctx, state, assumed, made.Chosen); !refused.IsSuccess() {
		return refused.AsError()
	}
	made.Claims, made.RequestMappings = reserved(state, made.Chosen)
	if world.binds {
		return world.bind(ctx, profile, state, assumed, made)
	}
	return nil
}

// preempt runs PostFilter again and again: where candidates tie, chance decides, and each of its choices is right.
func (world *cluster) preempt(
	ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, misfit *framework.FitError,
) []outcome {
	count := tries
	if misfit.NumAllNodes > manyNodes {
		count = moreTries
	}
	world.server.trying = true
	defer func() { world.server.trying = false }()
	seen := map[string]outcome{}
	for range count {
		world.evicted, world.server.returned = nil, ""
		result, said := profile.RunPostFilterPlugins(ctx, state, pod, misfit.Diagnosis.NodeToStatus)
		found := outcome{Victims: []string{}}
		if said.IsSuccess() && result != nil && result.NominatingInfo != nil {
			slices.Sort(world.evicted)
			found.Node = result.NominatedNodeName
			found.Victims = append(found.Victims, world.evicted...)
		} else {
			found.Message = said.Message()
		}
		found.Deallocated = world.server.returned
		text, _ := json.Marshal(found)
		seen[string(text)] = found
	}
	texts := []string{}
	for text := range seen {
		texts = append(texts, text)
	}
	sort.Strings(texts)
	outcomes := []outcome{}
	for _, text := range texts {
		outcomes = append(outcomes, seen[text])
	}
	return outcomes
}

// printGates writes name, stage, default and lock of every gate of this version, then what each needs.
func printGates() error {
	gate := utilfeature.DefaultMutableFeatureGate
	all, needs := gate.GetAll(), gate.Dependencies()
	names := []string{}
	for name := range all {
		names = append(names, string(name))
	}
	sort.Strings(names)
	stages := map[string]string{"ALPHA": "alpha", "BETA": "beta", "": "GA", "DEPRECATED": "deprecated"}
	for _, name := range names {
		spec := all[featuregate.Feature(name)]
		state, locked := "off", ""
		if gate.Enabled(featuregate.Feature(name)) {
			state = "on"
		}
		if spec.LockToDefault {
			locked = " locked"
		}
		needed := []string{}
		for _, other := range needs[featuregate.Feature(name)] {
			needed = append(needed, string(other))
		}
		sort.Strings(needed)
		fmt.Printf("%s | %s %s%s | %s\n", name, stages[string(spec.PreRelease)], state, locked, strings.Join(needed, " "))
	}
	return nil
}
