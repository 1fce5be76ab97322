package io.pipelane.runtime.graph.content;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * An ONNX model and the folder that its external data is relative to.
 *
 * <p>Constants are never gathered on the heap: the file is memory-mapped and the protobuf's bytes
 * alias the mapping, external data is read where it is needed.
 */
public record ModelFile(ModelProto model, Path folder) {
  /** What a protobuf message can hold; larger models keep their constants as external data. */
  public static final long MAXIMUM_BYTES = Integer.MAX_VALUE;

  /** How many levels below the model's folder external data may lie; 1 is beside the model. */
  public static final int MAXIMUM_DEPTH = 8;

  /**
   * Reads a model; the file must not change while the result is in use.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is no ONNX model, {@link
   *     Status#TOO_LARGE} beyond {@link #MAXIMUM_BYTES}
   */
  public static ModelFile read(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      long bytes = channel.size();
      if (bytes > MAXIMUM_BYTES) {
        throw new StatusException(
            Status.TOO_LARGE,
            "model file has %d bytes, a protobuf holds at most %d; store its weights as external"
                    .formatted(bytes, MAXIMUM_BYTES)
                + " data");
      }
      ByteBuffer mapped = channel.map(MapMode.READ_ONLY, 0, bytes);
      return new ModelFile(parse(UnsafeByteOperations.unsafeWrap(mapped)), folderOf(file));
    } catch (InvalidProtocolBufferException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "model file is not an ONNX model: " + e.getMessage(), e);
    }
  }

  private static ModelProto parse(ByteString bytes) throws IOException {
    CodedInputStream input = bytes.newCodedInput();
    input.enableAliasing(true);
    ModelProto model = ModelProto.parseFrom(input);
    if (!model.hasGraph()) {
      throw new InvalidProtocolBufferException("it has no graph");
    }
    return model;
  }

  private static Path folderOf(Path file) {
    Path parent = file.toAbsolutePath().getParent();
    return parent == null ? file.toAbsolutePath() : parent;
  }

  /** Writes a model, equal models to equal bytes. */
  public static void write(ModelProto model, Path file) throws IOException {
    try (OutputStream output = Files.newOutputStream(file)) {
      serialise(model, output);
    }
  }

  static void serialise(ModelProto model, OutputStream output) throws IOException {
    CodedOutputStream coded = CodedOutputStream.newInstance(output, 1 << 16);
    coded.useDeterministicSerialization();
    model.writeTo(coded);
    coded.flush();
  }

  public GraphProto graph() {
    return model.getGraph();
  }

  /** The same model with another graph. */
  public ModelFile with(GraphProto graph) {
    return new ModelFile(model.toBuilder().setGraph(graph).build(), folder);
  }
}
