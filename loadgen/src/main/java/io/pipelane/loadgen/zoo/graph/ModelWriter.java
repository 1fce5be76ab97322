package io.pipelane.loadgen.zoo.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * The writer of a model file, which draws each weight as it goes: no weight is in memory as a
 * whole.
 *
 * <p>A protobuf message is preceded by its length, so lengths are worked out first.
 */
public final class ModelWriter {
  private static final long IR_VERSION = 8;
  private static final int BUFFER = 1 << 16;

  private final WeightSource source;

  public ModelWriter(WeightSource source) {
    this.source = source;
  }

  /**
   * Writes the file, and its folder where there is none. The file appears when it is whole.
   *
   * @return its size in bytes
   */
  public long write(ZooGraph graph, Path file) throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    Path part = file.resolveSibling(file.getFileName() + ".part");
    try {
      try (OutputStream out = Files.newOutputStream(part)) {
        CodedOutputStream coded = CodedOutputStream.newInstance(out, BUFFER);
        write(graph, coded);
        coded.flush();
      }
      Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(part);
    }
    return Files.size(file);
  }

  private void write(ZooGraph model, CodedOutputStream out) throws IOException {
    header(model.operatorSet()).writeTo(out);
    long length = model.graph().getSerializedSize();
    for (Weight weight : model.weights()) {
      long tensor = length(weight);
      length += fieldLength(GraphProto.INITIALIZER_FIELD_NUMBER, tensor) + tensor;
    }
    begin(out, ModelProto.GRAPH_FIELD_NUMBER, length);
    model.graph().writeTo(out);
    for (Weight weight : model.weights()) {
      begin(out, GraphProto.INITIALIZER_FIELD_NUMBER, length(weight));
      description(weight).writeTo(out);
      begin(out, TensorProto.RAW_DATA_FIELD_NUMBER, weight.bytes());
      source.draw(weight, (bytes, count) -> out.writeRawBytes(bytes, 0, count));
    }
  }

  private static ModelProto header(int operatorSet) {
    return ModelProto.newBuilder()
        .setIrVersion(IR_VERSION)
        .setProducerName("pipelane-zoo")
        .addOpsetImport(OperatorSetIdProto.newBuilder().setDomain("").setVersion(operatorSet))
        .build();
  }

  private static TensorProto description(Weight weight) {
    return TensorProto.newBuilder()
        .setName(weight.name())
        .setDataType(DataType.FLOAT.getNumber())
        .addAllDims(weight.shape())
        .build();
  }

  private static long length(Weight weight) {
    return description(weight).getSerializedSize()
        + fieldLength(TensorProto.RAW_DATA_FIELD_NUMBER, weight.bytes())
        + weight.bytes();
  }

  /** What a field takes before its {@code length} bytes. */
  private static int fieldLength(int field, long length) {
    return CodedOutputStream.computeTagSize(field)
        + CodedOutputStream.computeUInt32SizeNoTag(Math.toIntExact(length));
  }

  private static void begin(CodedOutputStream out, int field, long length) throws IOException {
    out.writeTag(field, WireFormat.WIRETYPE_LENGTH_DELIMITED);
    out.writeUInt32NoTag(Math.toIntExact(length));
  }
}
