package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.content.ModelFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TimeCutsTest {
  private static final long LIMIT = 10_000;
  private static final int RANDOM_GRAPHS = 60;

  /** Gates so cheap that they never raise the limit. */
  private static final DeviceSpeed CHEAP = new DeviceSpeed(1, 1, 1, 3, 1);

  private static final DeviceSpeed CHEAPEST = new DeviceSpeed(1, 1, 0, 1, 0);

  @TempDir Path folder;

  static IntStream seeds() {
    return IntStream.range(0, RANDOM_GRAPHS);
  }

  /** A graph with a cut by bytes now and then, and its nodes' times. */
  private record Case(
      List<NodeProto> order, Liveness liveness, Segmentation byBytes, List<Long> nanos) {
    static Case of(ModelProto model, Set<Integer> cuts, long... nanos) {
      GraphProto graph = model.getGraph();
      List<NodeProto> order = NodeOrder.of(graph);
      Liveness liveness = Liveness.of(graph, order, ElementTypes.of(graph, order), HostValues.NONE);
      List<Integer> segments = new ArrayList<>();
      int segment = 0;
      for (int k = 0; k < order.size(); k++) {
        segment += cuts.contains(k) ? 1 : 0;
        segments.add(segment);
      }
      return new Case(
          order,
          liveness,
          new Segmentation(segments, segment + 1),
          LongStream.of(nanos).boxed().toList());
    }

    static Case random(int nodes, Random random) {
      Set<Integer> cuts = new HashSet<>();
      for (int k = 1; k < nodes; k++) {
        if (random.nextInt(12) == 0) {
          cuts.add(k);
        }
      }
      long[] nanos = new long[nodes];
      for (int k = 0; k < nodes; k++) {
        nanos[k] = random.nextInt(10) == 0 ? 2 * LIMIT : random.nextLong(1, LIMIT / 2);
      }
      return of(TestModels.random(nodes, random), cuts, nanos);
    }

    Segmentation refined(long limit, DeviceSpeed speed) {
      return refined(limit, speed, 1);
    }

    Segmentation refined(long limit, DeviceSpeed speed, double smallShare) {
      return TimeCuts.refine(
          byBytes,
          order,
          nanos.stream().mapToLong(Long::longValue).toArray(),
          liveness,
          speed,
          limit,
          smallShare);
    }

    long time(int begin, int end) {
      return nanos.subList(begin, end).stream().mapToLong(Long::longValue).sum();
    }

    /** What gates cost that lie where the cuts by bytes do not. */
    long cost(BitSet cuts) {
      long cost = 0;
      int begin = 0;
      for (int k = 1; k < order.size(); k++) {
        boolean isByBytes = isCut(byBytes, k);
        if (cuts.get(k) && !isByBytes) {
          int place = k;
          cost += CHEAP.gateNanos();
          cost +=
              order.subList(begin, k).stream()
                      .flatMap(node -> node.getOutputList().stream())
                      .filter(name -> liveness.neededUntil(name) >= place)
                      .count()
                  * CHEAP.gatedTensorNanos();
        }
        begin = isByBytes || cuts.get(k) ? k : begin;
      }
      return cost;
    }

    /** No segment takes longer, or only one that is a single node. */
    boolean isAllowed(BitSet cuts) {
      int begin = 0;
      for (int k = 1; k <= order.size(); k++) {
        if (k == order.size() || cuts.get(k) || isCut(byBytes, k)) {
          if (k - begin > 1 && time(begin, k) > LIMIT) {
            return false;
          }
          begin = k;
        }
      }
      return true;
    }
  }

  private static boolean isCut(Segmentation segmentation, int position) {
    return position > 0
        && position < segmentation.segmentOf().size()
        && !segmentation
            .segmentOf()
            .get(position)
            .equals(segmentation.segmentOf().get(position - 1));
  }

  private static BitSet cutsOf(Segmentation segmentation) {
    BitSet cuts = new BitSet();
    IntStream.range(1, segmentation.segmentOf().size())
        .filter(k -> isCut(segmentation, k))
        .forEach(cuts::set);
    return cuts;
  }

  @Test
  void refine_nothingTakesTooLong_changesNothing() {
    Case chain = Case.of(TestModels.chain(3, 32, 1), Set.of(2), 1, 1, 1, 1, 1, LIMIT - 4);
    assertEquals(chain.byBytes(), chain.refined(LIMIT, CHEAP));
  }

  @Test
  void refine_longStretch_isCutIntoAsFewAsCanBe() {
    Case chain = Case.of(TestModels.chain(3, 32, 1), Set.of(), 400, 400, 400, 400, 400, 400);
    assertEquals(List.of(0, 0, 1, 1, 2, 2), chain.refined(1_100, CHEAPEST).segmentOf());
  }

  /** A node alone may take longer than the limit; what is beside it does not wait for it. */
  @Test
  void refine_longNode_standsAlone() {
    Case chain = Case.of(TestModels.chain(2, 32, 1), Set.of(), 300, 9_900, 300, 300);
    assertEquals(List.of(0, 1, 2, 2), chain.refined(1_000, CHEAPEST).segmentOf());
  }

  @Test
  void refine_gatesWouldTakeMoreThanAHundredthOfTheRun_raisesTheLimit() {
    long[] nanos = new long[64];
    Arrays.fill(nanos, 1_000);
    Case chain = Case.of(TestModels.chain(32, 32, 1), Set.of(), nanos);
    DeviceSpeed dear = new DeviceSpeed(1, 1, 1, 300, 0);
    Segmentation refined = chain.refined(1_000, dear);
    assertEquals(2, refined.segments(), "three gates of 300 ns are too many for 64,000");
  }

  /** Nobody waits long for a segment of a run with small inputs, whose gates cost as much. */
  @Test
  void refine_gatesWouldTakeMoreOfASmallRun_raisesTheLimit() {
    long[] nanos = new long[64];
    Arrays.fill(nanos, 1_000);
    Case chain = Case.of(TestModels.chain(32, 32, 1), Set.of(), nanos);
    assertEquals(64, chain.refined(1_000, CHEAPEST).segments(), "63 ns of 64,000");
    Segmentation refined = chain.refined(1_000, CHEAPEST, 0.05);
    assertEquals(32, refined.segments(), "63 ns are too many for 3,200, 31 are not");
    DeviceSpeed slow = new DeviceSpeed(1, 1, 100, 1, 0);
    assertEquals(64, chain.refined(1_000, slow, 0.05).segments(), "6,400 ns are the nodes' alone");
  }

  @Test
  void refine_veryLongRun_hasABoundedNumberOfSegments() {
    long[] nanos = new long[2_000];
    Arrays.fill(nanos, 1_000_000);
    Case chain = Case.of(TestModels.chain(1_000, 32, 1), Set.of(), nanos);
    int segments = chain.refined(LIMIT, CHEAP).segments();
    assertTrue(segments > 200 && segments < 300, segments + " segments");
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void refine_randomGraph_keepsItsCutsAndTheLimitWhereACutIsPossible(int seed) {
    Random random = new Random(seed);
    Case any = Case.random(20 + random.nextInt(200), random);
    Segmentation refined = any.refined(LIMIT, CHEAP);
    BitSet cuts = cutsOf(refined);
    assertTrue(any.isAllowed(cuts), () -> "seed " + seed + ": " + refined);
    for (int k = 1; k < any.nanos().size(); k++) {
      assertTrue(!isCut(any.byBytes(), k) || cuts.get(k), "seed " + seed + ", position " + k);
    }
    assertEquals(cuts.cardinality() + 1, refined.segments());
  }

  /** Against every set of cuts. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void refine_smallRandomGraph_isTheCheapestOfAllAllowed(int seed) {
    Random random = new Random(seed);
    Case any = Case.random(4 + random.nextInt(8), random);
    long best = Long.MAX_VALUE;
    for (long set = 0; set < 1L << (any.nanos().size() - 1); set++) {
      BitSet cuts = BitSet.valueOf(new long[] {set << 1});
      if (any.isAllowed(cuts)) {
        best = Math.min(best, any.cost(cuts));
      }
    }
    assertEquals(best, any.cost(cutsOf(any.refined(LIMIT, CHEAP))), "seed " + seed);
  }

  /**
   * Gates part the run in time: each node of a segment waits for its gate, and the next gate waits
   * for it. The answers are those of the model without any gate.
   */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void cut_randomGraph_gatesHoldEveryNodeBetweenThem(int seed) throws Exception {
    Random random = new Random(seed);
    ModelProto model = TestModels.random(5 + random.nextInt(60), random);
    check("seed " + seed, model, Duration.ofSeconds(1 + random.nextInt(15)));
  }

  @Test
  void cut_wayBack_hasGatesWithoutWeights() throws Exception {
    GatedGraph gated =
        check("there and back", TestModels.thereAndBack(6, 32, 1), Duration.ofMillis(1));
    List<GatedGraph.Segment> segments = gated.segments();
    assertEquals(gated.model().getGraph().getNodeCount() - segments.size() + 1, segments.size());
    assertEquals(6, segments.stream().filter(segment -> segment.byteSize() > 0).count());
    assertEquals(6, gated.weights().size());
    assertTrue(segments.getLast().byteSize() == 0 && segments.getLast().estimatedNanos() > 0);
  }

  /** Cuts a model whose nodes take some seconds each by estimate. */
  private GatedGraph check(String name, ModelProto model, Duration longest) throws Exception {
    ModelFile file = ArrivingWeights.inMemory(model);
    Map<String, TensorProto> weights = WeightSelection.DEFAULT.select(file.graph());
    CutSettings coarse = new CutSettings(1, 3);
    GatedGraph gated =
        GateCutter.cut(
            file,
            weights,
            coarse.withLongestSegment(longest),
            GraphTarget.PROCESSOR,
            TestModels.enormous(model));
    holds(name, gated);
    GatedGraph uncut = GateCutter.cut(file, weights, new CutSettings(1, 1));
    try (ArrivingWeights runner = new ArrivingWeights(folder)) {
      List<float[]> expected = runner.gated(uncut, weights, file.folder(), 3);
      List<float[]> actual = runner.gated(gated, weights, file.folder(), 3);
      for (int i = 0; i < expected.size(); i++) {
        assertArrayEquals(expected.get(i), actual.get(i), name);
      }
    }
    return gated;
  }

  private static void holds(String name, GatedGraph gated) {
    Map<String, Set<Integer>> ancestors = new HashMap<>();
    List<NodeProto> nodes = gated.model().getGraph().getNodeList();
    Set<Integer> since = new LinkedHashSet<>();
    int gate = -1;
    for (int k = 0; k < nodes.size(); k++) {
      NodeProto node = nodes.get(k);
      Set<Integer> before = new HashSet<>(Set.of(k));
      node.getInputList().forEach(read -> before.addAll(ancestors.getOrDefault(read, Set.of())));
      node.getOutputList().forEach(output -> ancestors.put(output, before));
      if (node.getDomain().equals(GatedGraph.GATE_DOMAIN)) {
        assertTrue(
            before.containsAll(since), name + ": " + node.getName() + " waits for too little");
        since.clear();
        gate = k;
      } else {
        assertTrue(
            gate < 0 || before.contains(gate), name + ": " + node.getName() + " is not held");
        since.add(k);
      }
    }
  }
}
