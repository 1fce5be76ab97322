package io.pipelane.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import io.pipelane.protocol.grpc.InferenceProto;
import io.pipelane.protocol.grpc.ModelConfigProto;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/**
 * Names, numbers and types on the wire are those that clients of other servers were built with. The
 * tables beside this class are the published ones; only what is published anew changes them.
 */
class PublishedNumbersTest {
  private static String table(FileDescriptor file) {
    List<String> lines = new ArrayList<>();
    file.getServices().forEach(service -> service(service, lines));
    file.getEnumTypes().forEach(type -> enumeration(type, lines));
    file.getMessageTypes().forEach(type -> message(type, lines));
    return String.join("\n", lines) + "\n";
  }

  private static void service(ServiceDescriptor service, List<String> lines) {
    lines.add(service.getFullName());
    for (MethodDescriptor method : service.getMethods()) {
      lines.add(
          "  %s %s%s %s%s"
              .formatted(
                  method.getName(),
                  method.isClientStreaming() ? "stream " : "",
                  method.getInputType().getFullName(),
                  method.isServerStreaming() ? "stream " : "",
                  method.getOutputType().getFullName()));
    }
  }

  private static void enumeration(EnumDescriptor type, List<String> lines) {
    lines.add(type.getFullName());
    type.getValues().forEach(value -> lines.add("  " + value.getNumber() + " " + value.getName()));
  }

  private static void message(Descriptor type, List<String> lines) {
    lines.add(type.getFullName());
    for (FieldDescriptor field : type.getFields()) {
      lines.add("  %d %s %s".formatted(field.getNumber(), field.getName(), kind(field)));
    }
    type.getEnumTypes().forEach(nested -> enumeration(nested, lines));
    for (Descriptor nested : type.getNestedTypes()) {
      if (!nested.getOptions().getMapEntry()) {
        message(nested, lines);
      }
    }
  }

  private static String kind(FieldDescriptor field) {
    if (field.isMapField()) {
      List<FieldDescriptor> entry = field.getMessageType().getFields();
      return "map<%s, %s>".formatted(name(entry.get(0)), name(entry.get(1)));
    }
    String name = field.isRepeated() ? "repeated " + name(field) : name(field);
    return field.getContainingOneof() == null
        ? name
        : name + " of " + field.getContainingOneof().getName();
  }

  private static String name(FieldDescriptor field) {
    return switch (field.getJavaType()) {
      case MESSAGE -> field.getMessageType().getFullName();
      case ENUM -> field.getEnumType().getFullName();
      default -> field.getType().name().toLowerCase(java.util.Locale.ROOT);
    };
  }

  private static String published(String name) throws IOException {
    try (InputStream table = PublishedNumbersTest.class.getResourceAsStream(name)) {
      return new String(Objects.requireNonNull(table).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void inference_isAsPublished() throws IOException {
    assertEquals(published("inference.txt"), table(InferenceProto.getDescriptor()));
  }

  @Test
  void modelConfiguration_isAsPublished() throws IOException {
    assertEquals(published("model_config.txt"), table(ModelConfigProto.getDescriptor()));
  }
}
