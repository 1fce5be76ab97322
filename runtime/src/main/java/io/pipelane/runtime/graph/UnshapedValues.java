package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import io.pipelane.runtime.Shape;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Inputs and outputs of a graph that are tensors without a shape, so that not even their rank is
 * known. ONNX Runtime tells of them what it tells of scalars.
 */
public final class UnshapedValues {
  private static final int MAXIMUM_DECLARATION_BYTES = 1 << 16;

  private UnshapedValues() {}

  /** The names of a graph's unshaped inputs. */
  public static List<String> inputs(GraphProto graph) {
    return graph.getInputList().stream()
        .filter(UnshapedValues::isUnshaped)
        .map(ValueInfoProto::getName)
        .toList();
  }

  /**
   * Which names are those of unshaped inputs or outputs in a file. Nothing else of the file is kept
   * in memory, whatever is in it; in one that is no ONNX model there are none.
   */
  public static Set<String> among(Set<String> names, Path file) throws IOException {
    Set<String> unshaped = new TreeSet<>();
    try (InputStream stream = Files.newInputStream(file)) {
      CodedInputStream model = CodedInputStream.newInstance(stream);
      for (int tag = model.readTag(); tag != 0; tag = model.readTag()) {
        if (isMessage(tag, ModelProto.GRAPH_FIELD_NUMBER)) {
          int outer = model.pushLimit(model.readRawVarint32());
          collect(model, names, unshaped);
          model.popLimit(outer);
        } else {
          model.skipField(tag);
        }
      }
    } catch (InvalidProtocolBufferException e) {
      return Set.of();
    }
    return unshaped;
  }

  private static void collect(CodedInputStream graph, Set<String> names, Set<String> unshaped)
      throws IOException {
    for (int tag = graph.readTag(); tag != 0; tag = graph.readTag()) {
      if (isMessage(tag, GraphProto.INPUT_FIELD_NUMBER)
          || isMessage(tag, GraphProto.OUTPUT_FIELD_NUMBER)) {
        int bytes = graph.readRawVarint32();
        if (bytes > MAXIMUM_DECLARATION_BYTES) {
          graph.skipRawBytes(bytes);
          continue;
        }
        ValueInfoProto value = ValueInfoProto.parseFrom(graph.readRawBytes(bytes));
        if (isUnshaped(value) && names.contains(value.getName())) {
          unshaped.add(value.getName());
        }
      } else {
        graph.skipField(tag);
      }
    }
  }

  private static boolean isMessage(int tag, int field) {
    return WireFormat.getTagFieldNumber(tag) == field
        && WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED;
  }

  private static boolean isUnshaped(ValueInfoProto value) {
    return value.getType().hasTensorType() && !value.getType().getTensorType().hasShape();
  }

  /** A model whose unshaped inputs and outputs have got shapes, as far as there are some. */
  public static ModelProto shaped(ModelProto model, Map<String, Shape> shapes) {
    ModelProto.Builder shaped = model.toBuilder();
    GraphProto.Builder graph = shaped.getGraphBuilder();
    graph.getInputBuilderList().forEach(input -> shape(input, shapes));
    graph.getOutputBuilderList().forEach(output -> shape(output, shapes));
    return shaped.build();
  }

  private static void shape(ValueInfoProto.Builder value, Map<String, Shape> shapes) {
    Shape shape = shapes.get(value.getName());
    if (shape == null || !isUnshaped(value.build())) {
      return;
    }
    TensorShapeProto.Builder dimensions =
        value.getTypeBuilder().getTensorTypeBuilder().getShapeBuilder();
    for (long dimension : shape.toArray()) {
      TensorShapeProto.Dimension.Builder added = dimensions.addDimBuilder();
      if (dimension >= 0) {
        added.setDimValue(dimension);
      }
    }
  }
}
