package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.GatedGraph.Segment;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.content.Constants;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.Scopes;
import io.pipelane.runtime.graph.content.TensorContent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The cutter of a graph, which turns streamed weights into inputs and puts a gate at each cut. */
public final class GateCutter {
  private GateCutter() {}

  /** Cuts a graph for the processor. */
  public static GatedGraph cut(
      ModelFile file, Map<String, TensorProto> weights, CutSettings settings) {
    return cut(file, weights, settings, GraphTarget.PROCESSOR);
  }

  /** Cuts a graph by bytes alone. */
  public static GatedGraph cut(
      ModelFile file, Map<String, TensorProto> weights, CutSettings settings, GraphTarget target) {
    return cut(file, weights, settings, target, ValueShapes.UNKNOWN);
  }

  /**
   * Cuts a graph; the result has passed {@link GateRules}.
   *
   * @param file an optimised model, its constants being initializers
   * @param weights its initializers that are streamed, by name
   * @param shapes of its values, for the cuts by time
   * @throws io.pipelane.config.StatusException when the graph is not well formed
   */
  public static GatedGraph cut(
      ModelFile file,
      Map<String, TensorProto> weights,
      CutSettings settings,
      GraphTarget target,
      ValueShapes shapes) {
    GraphProto graph = file.graph();
    Constants.checkInlineSum(graph, weights.keySet(), file.folder());
    List<NodeProto> order = NodeOrder.of(graph);
    ElementTypes types = ElementTypes.of(graph, order);
    Liveness liveness = Liveness.of(graph, order, types, target.hostValues(graph, order, types));
    Set<String> tables = settings.readInPlace() ? target.readInPlace(order, weights) : Set.of();
    Map<String, TensorProto> streamed = without(weights, tables);
    Set<String> slab = target.slab(streamed);
    Segmentation byBytes =
        Segmentation.of(
            order, without(streamed, slab), settings, target.headStart(), liveness::mayCut);
    long[] nanos = NodeTimes.nanos(order, shapes, target.speed());
    Segmentation cuts =
        TimeCuts.refine(
            byBytes,
            order,
            nanos,
            liveness,
            target.speed(),
            settings.longestSegment().toNanos(),
            shapes.smallShare());
    List<Weight> placed = place(order, cuts, streamed, slab);
    List<InPlaceWeight> inPlace = placeInPlace(tables, weights);
    GateWiring wiring = new GateWiring(graph, order, cuts, liveness, placed);

    GraphProto.Builder edited =
        Constants.inline(WeightInputs.without(graph, weights), weights.keySet(), file.folder())
            .toBuilder()
            .clearNode()
            .clearValueInfo()
            .clearInput()
            .clearDocString();
    wiring.nodes(
        node -> {
          edited.addNode(Constants.inline(node, file.folder()));
          types.declareOutputs(node, edited);
        });
    graph.getInputList().forEach(edited::addInput);
    placed.forEach(w -> edited.addInput(WeightInputs.declaration(w.name(), w.type(), w.shape())));
    inPlace.forEach(w -> edited.addInput(WeightInputs.declaration(w.name(), w.type(), w.shape())));
    GatedGraph gated =
        new GatedGraph(
            model(file.model(), edited, cuts.segments() > 1),
            placed,
            inPlace,
            segments(placed, cuts, nanos),
            placed.isEmpty() ? 0 : end(placed.getLast()));
    GateRules.check(gated);
    return gated;
  }

  private static Map<String, TensorProto> without(
      Map<String, TensorProto> weights, Set<String> names) {
    Map<String, TensorProto> others = new HashMap<>(weights);
    others.keySet().removeAll(names);
    return others;
  }

  /** The model's own words (producer, description, metadata) are no part of a structure. */
  private static ModelProto model(ModelProto source, GraphProto.Builder graph, boolean hasGates) {
    ModelProto.Builder model =
        ModelProto.newBuilder()
            .setIrVersion(source.getIrVersion())
            .addAllOpsetImport(source.getOpsetImportList())
            .addAllFunctions(source.getFunctionsList())
            .setGraph(graph);
    if (hasGates) {
      model.addOpsetImport(
          OperatorSetIdProto.newBuilder()
              .setDomain(GatedGraph.GATE_DOMAIN)
              .setVersion(GatedGraph.GATE_VERSION));
    }
    return model.build();
  }

  /** Lays weights out in the order in which they are first read, those of the slab in front. */
  private static List<Weight> place(
      List<NodeProto> order,
      Segmentation cuts,
      Map<String, TensorProto> weights,
      Set<String> slab) {
    Map<String, Integer> segments = new LinkedHashMap<>();
    for (NodeProto node : order) {
      Scopes.reads(node).stream()
          .filter(slab::contains)
          .forEach(name -> segments.putIfAbsent(name, 0));
    }
    for (int k = 0; k < order.size(); k++) {
      int segment = cuts.segmentOf().get(k);
      Scopes.reads(order.get(k)).stream()
          .filter(weights::containsKey)
          .forEach(name -> segments.putIfAbsent(name, segment));
    }
    List<Weight> placed = new ArrayList<>();
    long offset = 0;
    for (Map.Entry<String, Integer> entry : segments.entrySet()) {
      TensorProto tensor = weights.getOrDefault(entry.getKey(), TensorProto.getDefaultInstance());
      Weight weight =
          new Weight(
              entry.getKey(),
              TensorType.ofOnnx(tensor.getDataType()),
              TensorContent.shape(tensor),
              offset,
              TensorContent.byteSize(tensor),
              entry.getValue());
      placed.add(weight);
      offset = end(weight);
    }
    return placed;
  }

  private static List<InPlaceWeight> placeInPlace(
      Set<String> names, Map<String, TensorProto> weights) {
    List<InPlaceWeight> placed = new ArrayList<>();
    long offset = 0;
    for (String name : names) {
      TensorProto tensor = weights.getOrDefault(name, TensorProto.getDefaultInstance());
      InPlaceWeight weight =
          new InPlaceWeight(
              name,
              TensorType.ofOnnx(tensor.getDataType()),
              TensorContent.shape(tensor),
              offset,
              TensorContent.byteSize(tensor));
      placed.add(weight);
      offset = GatedGraph.align(weight.end());
    }
    return placed;
  }

  private static long end(Weight weight) {
    return GatedGraph.align(weight.offset() + weight.byteSize());
  }

  private static List<Segment> segments(List<Weight> placed, Segmentation cuts, long[] nodeNanos) {
    long[] bytes = new long[cuts.segments()];
    int[] layers = new int[cuts.segments()];
    placed.forEach(weight -> bytes[weight.segment()] += GatedGraph.align(weight.byteSize()));
    long[] nanos = new long[cuts.segments()];
    for (int k = 0; k < nodeNanos.length; k++) {
      int segment = cuts.segmentOf().get(k);
      layers[segment]++;
      nanos[segment] += nodeNanos[k];
    }
    List<Segment> segments = new ArrayList<>();
    long offset = 0;
    for (int g = 0; g < bytes.length; g++) {
      segments.add(new Segment(offset, bytes[g], layers[g], nanos[g]));
      offset += bytes[g];
    }
    return segments;
  }
}
