package io.pipelane.runtime;

import static io.pipelane.runtime.TestModels.node;
import static io.pipelane.runtime.TestModels.weight;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;

/** Small graphs of the forms that models have in practice which keep state between requests. */
public final class StatefulModels {
  /** The tokens that a decoder knows. */
  public static final int TOKENS = 16;

  /** Heads of a decoder's attention. */
  public static final int HEADS = 2;

  /** The width of a decoder's head. */
  public static final int HEAD_WIDTH = 4;

  /** The units of a speech detector. */
  public static final int UNITS = 16;

  private static final int WIDTH = HEADS * HEAD_WIDTH;
  private static final String BATCH = "batch_size";
  private static final String SEQUENCE = "sequence_length";
  private static final String PAST = "past_sequence_length";

  private StatefulModels() {}

  /**
   * A decoder of one layer with a cache of keys and values: {@code ids} INT64 [batch, sequence],
   * {@code past_key} and {@code past_value} FP32 [batch, heads, past, width]; {@code logits}
   * [batch, sequence, tokens], {@code present_key} and {@code present_value}, which have a row more
   * for each token. Its attention has no mask, so the last row of logits alone does not know what
   * follows it. Dimensions have the names that Optimum gives them.
   */
  public static ModelProto decoder() {
    return decoder(BATCH, PAST, PAST + " + 1");
  }

  /**
   * The same with names of its own.
   *
   * @param batch the first dimension of all inputs and outputs; empty for none, a number for a
   *     fixed one
   * @param past what grows of the cache
   * @param present the same of the outputs
   */
  public static ModelProto decoder(String batch, String past, String present) {
    Random random = new Random(1);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(value("ids", TensorType.INT64, batch, past.isEmpty() ? "" : SEQUENCE))
            .addInitializer(weight("embedding", random, TOKENS, WIDTH))
            .addInitializer(numbers("split", 0, 0, HEADS, HEAD_WIDTH))
            .addInitializer(numbers("joined", 0, 0, WIDTH))
            .addNode(node("Gather", List.of("embedding", "ids"), "x"));
    for (String part : List.of("query", "key", "value")) {
      graph
          .addInitializer(weight("w_" + part, random, WIDTH, WIDTH))
          .addNode(node("MatMul", List.of("x", "w_" + part), part))
          .addNode(node("Reshape", List.of(part, "split"), part + "_split"))
          .addNode(permuted(part + "_split", part + "_heads", 0, 2, 1, 3));
    }
    for (String part : List.of("key", "value")) {
      graph
          .addInput(cache("past_" + part, batch, past))
          .addNode(
              node("Concat", List.of("past_" + part, part + "_heads"), "present_" + part)
                  .addAttribute(TestModels.integer("axis", 2)));
    }
    return TestModels.model(
        graph
            .addNode(permuted("present_key", "keys", 0, 1, 3, 2))
            .addNode(node("MatMul", List.of("query_heads", "keys"), "scores"))
            .addNode(
                node("Softmax", List.of("scores"), "shares")
                    .addAttribute(TestModels.integer("axis", -1)))
            .addNode(node("MatMul", List.of("shares", "present_value"), "seen"))
            .addNode(permuted("seen", "seen_split", 0, 2, 1, 3))
            .addNode(node("Reshape", List.of("seen_split", "joined"), "seen_joined"))
            .addInitializer(weight("w_out", random, WIDTH, TOKENS))
            .addNode(node("MatMul", List.of("seen_joined", "w_out"), "logits"))
            .addOutput(
                value(
                    "logits",
                    TensorType.FP32,
                    batch,
                    past.isEmpty() ? "" : SEQUENCE,
                    Integer.toString(TOKENS)))
            .addOutput(cache("present_key", batch, present))
            .addOutput(cache("present_value", batch, present)));
  }

  private static ValueInfoProto cache(String name, String batch, String length) {
    String heads = Integer.toString(HEADS);
    return value(name, TensorType.FP32, batch, heads, length, Integer.toString(HEAD_WIDTH));
  }

  /**
   * The least model whose state grows: {@code y} is the mean of all {@code x} so far, FP32 [batch,
   * width], and {@code s} and {@code t} are those, FP32 [batch, past, width].
   */
  public static ModelProto mean(int width) {
    String each = Integer.toString(width);
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(value("x", TensorType.FP32, BATCH, each))
            .addInput(value("s", TensorType.FP32, BATCH, PAST, each))
            .addInitializer(numbers("one", 1))
            .addNode(node("Unsqueeze", List.of("x", "one"), "last"))
            .addNode(
                node("Concat", List.of("s", "last"), "t")
                    .addAttribute(TestModels.integer("axis", 1)))
            .addNode(
                node("ReduceMean", List.of("t"), "y")
                    .addAttribute(integers("axes", 1))
                    .addAttribute(TestModels.integer("keepdims", 0)))
            .addOutput(value("y", TensorType.FP32, BATCH, each))
            .addOutput(value("t", TensorType.FP32, BATCH, PAST + " + 1", each)));
  }

  /**
   * A detector of speech in the form of Silero's: {@code input} FP32 [batch, samples], {@code
   * state} FP32 [2, batch, units], {@code sr} INT64, a scalar; {@code output} FP32 [batch, 1] and
   * {@code stateN}, which is declared with open dimensions only. All of it, its weights included,
   * lies in the bodies of an {@code If} on the rate. No open dimension has a name.
   */
  public static ModelProto speechDetector() {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(value("input", TensorType.FP32, "", ""))
            .addInput(value("state", TensorType.FP32, "2", "", Integer.toString(UNITS)))
            .addInput(value("sr", TensorType.INT64))
            .addInitializer(scalar("fast", 16_000))
            .addNode(node("Equal", List.of("sr", "fast"), "is_fast"))
            .addNode(
                node("If", List.of("is_fast"), "output")
                    .addOutput("stateN")
                    .addAttribute(TestModels.graph("then_branch", detection("then", 8, 1)))
                    .addAttribute(TestModels.graph("else_branch", detection("else", 4, 2))))
            .addOutput(value("output", TensorType.FP32, "", "1"))
            .addOutput(value("stateN", TensorType.FP32, "", "", "")));
  }

  /** Frames of samples by a convolution, their mean, and a recurrent layer of one step. */
  private static GraphProto.Builder detection(String as, int frame, long seed) {
    Random random = new Random(seed);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .setName(as)
            .addInitializer(numbers(as + "0", 0))
            .addInitializer(numbers(as + "1", 1))
            .addInitializer(numbers(as + "2", 2))
            .addInitializer(weight(as + "_frames", random, UNITS, 1, frame))
            .addInitializer(weight(as + "_w", random, 1, 4 * UNITS, UNITS))
            .addInitializer(weight(as + "_r", random, 1, 4 * UNITS, UNITS))
            .addInitializer(weight(as + "_out", random, UNITS, 1))
            .addNode(node("Unsqueeze", List.of("input", as + "1"), as + "_samples"))
            .addNode(
                node("Conv", List.of(as + "_samples", as + "_frames"), as + "_conv")
                    .addAttribute(integers("strides", frame)))
            .addNode(node("Relu", List.of(as + "_conv"), as + "_relu"))
            .addNode(
                node("ReduceMean", List.of(as + "_relu"), as + "_mean")
                    .addAttribute(integers("axes", 2)))
            .addNode(permuted(as + "_mean", as + "_x", 2, 0, 1));
    for (int part = 0; part < 2; part++) {
      graph.addNode(
          node(
              "Slice",
              List.of("state", as + part, as + (part + 1), as + "0"),
              as + (part == 0 ? "_h" : "_c")));
    }
    return graph
        .addNode(
            NodeProto.newBuilder()
                .setName(as + "_lstm")
                .setOpType("LSTM")
                .addAllInput(List.of(as + "_x", as + "_w", as + "_r", "", "", as + "_h", as + "_c"))
                .addAllOutput(List.of("", as + "_hn", as + "_cn"))
                .addAttribute(TestModels.integer("hidden_size", UNITS)))
        .addNode(node("Squeeze", List.of(as + "_hn", as + "0"), as + "_last"))
        .addNode(node("MatMul", List.of(as + "_last", as + "_out"), as + "_sum"))
        .addNode(node("Sigmoid", List.of(as + "_sum"), as + "_output"))
        .addNode(
            node("Concat", List.of(as + "_hn", as + "_cn"), as + "_stateN")
                .addAttribute(TestModels.integer("axis", 0)))
        .addOutput(value(as + "_output", TensorType.FP32, "", "1"))
        .addOutput(value(as + "_stateN", TensorType.FP32, "", "", ""));
  }

  private static NodeProto.Builder permuted(String from, String to, long... order) {
    return node("Transpose", List.of(from), to).addAttribute(integers("perm", order));
  }

  private static AttributeProto integers(String name, long... numbers) {
    AttributeProto.Builder attribute =
        AttributeProto.newBuilder().setName(name).setType(AttributeProto.AttributeType.INTS);
    LongStream.of(numbers).forEach(attribute::addInts);
    return attribute.build();
  }

  private static TensorProto numbers(String name, long... numbers) {
    TensorProto.Builder tensor =
        TensorProto.newBuilder()
            .setName(name)
            .setDataType(TensorType.INT64.onnx())
            .addDims(numbers.length);
    LongStream.of(numbers).forEach(tensor::addInt64Data);
    return tensor.build();
  }

  private static TensorProto scalar(String name, long number) {
    return TensorProto.newBuilder()
        .setName(name)
        .setDataType(TensorType.INT64.onnx())
        .addInt64Data(number)
        .build();
  }

  /** Declares a value, whose dimensions are numbers, names, or open without a name: empty. */
  public static ValueInfoProto value(String name, TensorType type, String... dimensions) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    for (String dimension : dimensions) {
      TensorShapeProto.Dimension.Builder entry = shape.addDimBuilder();
      if (dimension.chars().allMatch(Character::isDigit) && !dimension.isEmpty()) {
        entry.setDimValue(Long.parseLong(dimension));
      } else if (!dimension.isEmpty()) {
        entry.setDimParam(dimension);
      }
    }
    return TestModels.value(name, type, shape);
  }
}
