package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonGenerator;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import io.netty.buffer.ByteBuf;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.protocol.grpc.ModelInput;
import io.pipelane.protocol.grpc.ModelOutput;
import io.pipelane.protocol.grpc.ModelVersionPolicy;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.catalog.ServedModel;
import java.io.IOException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/** A model's configuration as the protocol's extension answers it. */
public final class ModelConfigs {
  private static final String PLATFORM = "onnxruntime_onnx";
  private static final String BACKEND = "onnxruntime";

  private ModelConfigs() {}

  /** What the model's owner has said, completed by what the model itself says. */
  public static ModelConfig of(ServedModel model, TritonConfig declared) {
    ModelConfig.Builder config = declared.message().toBuilder();
    config.setName(model.version().model());
    config.setPlatform(platform(declared));
    if (!declared.isEnsemble()) {
      config.setBackend(BACKEND).setDefaultModelFilename(declared.modelFile());
    }
    if (!declared.isWritten()) {
      config.setVersionPolicy(
          ModelVersionPolicy.newBuilder().setAll(ModelVersionPolicy.All.getDefaultInstance()));
    }
    boolean batched = config.getMaxBatchSize() > 0;
    if (config.getInputCount() == 0) {
      model.inputs().forEach(input -> config.addInput(input(input, batched)));
    }
    if (config.getOutputCount() == 0) {
      model.outputs().forEach(output -> config.addOutput(output(output, batched)));
    }
    return config.build();
  }

  /** What a model is called by what runs it. */
  public static String platform(TritonConfig declared) {
    return declared.isEnsemble() ? TritonConfig.ENSEMBLE : PLATFORM;
  }

  private static ModelInput input(TensorSpec spec, boolean batched) {
    ModelInput.Builder input =
        ModelInput.newBuilder().setName(spec.name()).setDataType(TritonConfig.typeOf(spec.type()));
    for (long dimension : dimensions(spec, batched)) {
      input.addDims(dimension);
    }
    return input.build();
  }

  private static ModelOutput output(TensorSpec spec, boolean batched) {
    ModelOutput.Builder output =
        ModelOutput.newBuilder().setName(spec.name()).setDataType(TritonConfig.typeOf(spec.type()));
    for (long dimension : dimensions(spec, batched)) {
      output.addDims(dimension);
    }
    return output.build();
  }

  /** Where there is a batch, it is the first dimension, which the configuration leaves out. */
  private static long[] dimensions(TensorSpec spec, boolean batched) {
    long[] shape = spec.shape().toArray();
    return batched && shape.length > 0 ? Arrays.copyOfRange(shape, 1, shape.length) : shape;
  }

  /** Appends a configuration as JSON: names as in the message, every field that has a value. */
  public static void write(ByteBuf target, ModelConfig config) {
    Json.write(target, json -> writeMessage(json, config));
  }

  private static void writeMessage(JsonGenerator json, Message message) throws IOException {
    json.writeStartObject();
    for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
      if (field.hasPresence() && !message.hasField(field)) {
        continue;
      }
      json.writeFieldName(field.getName());
      Object value = message.getField(field);
      if (field.isMapField()) {
        writeMap(json, (List<?>) value);
      } else if (field.isRepeated()) {
        json.writeStartArray();
        for (Object element : (List<?>) value) {
          writeValue(json, element);
        }
        json.writeEndArray();
      } else {
        writeValue(json, value);
      }
    }
    json.writeEndObject();
  }

  private static void writeMap(JsonGenerator json, List<?> entries) throws IOException {
    json.writeStartObject();
    for (Object element : entries) {
      MapEntry<?, ?> entry = (MapEntry<?, ?>) element;
      json.writeFieldName(String.valueOf(entry.getKey()));
      writeValue(json, entry.getValue());
    }
    json.writeEndObject();
  }

  private static void writeValue(JsonGenerator json, Object value) throws IOException {
    switch (value) {
      case Message message -> writeMessage(json, message);
      case EnumValueDescriptor constant -> json.writeString(constant.getName());
      case ByteString bytes ->
          json.writeString(Base64.getEncoder().encodeToString(bytes.toByteArray()));
      case Boolean flag -> json.writeBoolean(flag);
      case Integer number -> json.writeNumber(number);
      case Long number -> json.writeNumber(number);
      case Float number -> json.writeNumber(number);
      case Double number -> json.writeNumber(number);
      default -> json.writeString(value.toString());
    }
  }
}
