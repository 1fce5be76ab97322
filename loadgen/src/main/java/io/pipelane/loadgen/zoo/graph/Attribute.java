package io.pipelane.loadgen.zoo.graph;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.AttributeProto.AttributeType;
import ai.onnx.proto.OnnxMl.NodeProto;
import com.google.protobuf.ByteString;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** An attribute of a node. */
public record Attribute(AttributeProto proto) {
  public static Attribute integer(String name, long value) {
    return new Attribute(
        AttributeProto.newBuilder().setName(name).setType(AttributeType.INT).setI(value).build());
  }

  public static Attribute real(String name, double value) {
    return new Attribute(
        AttributeProto.newBuilder()
            .setName(name)
            .setType(AttributeType.FLOAT)
            .setF((float) value)
            .build());
  }

  public static Attribute text(String name, String value) {
    return new Attribute(
        AttributeProto.newBuilder()
            .setName(name)
            .setType(AttributeType.STRING)
            .setS(ByteString.copyFromUtf8(value))
            .build());
  }

  public static Attribute texts(String name, String... values) {
    return new Attribute(
        AttributeProto.newBuilder()
            .setName(name)
            .setType(AttributeType.STRINGS)
            .addAllStrings(Stream.of(values).map(ByteString::copyFromUtf8).toList())
            .build());
  }

  public static Attribute integers(String name, long... values) {
    return new Attribute(
        AttributeProto.newBuilder()
            .setName(name)
            .setType(AttributeType.INTS)
            .addAllInts(LongStream.of(values).boxed().toList())
            .build());
  }

  /** A node's attribute; {@code standard} where it has none of that name. */
  public static long integer(NodeProto node, String name, long standard) {
    return find(node, name).map(AttributeProto::getI).orElse(standard);
  }

  /** A node's attribute; {@code standard} where it has none of that name. */
  public static List<Long> integers(NodeProto node, String name, Long... standard) {
    return find(node, name).map(AttributeProto::getIntsList).orElse(List.of(standard));
  }

  /** A node's attribute; {@code standard} where it has none of that name. */
  public static double real(NodeProto node, String name, double standard) {
    return find(node, name).map(found -> (double) found.getF()).orElse(standard);
  }

  private static Optional<AttributeProto> find(NodeProto node, String name) {
    return node.getAttributeList().stream()
        .filter(attribute -> attribute.getName().equals(name))
        .findFirst();
  }
}
