package io.pipelane.loadgen.request;

import com.fasterxml.jackson.core.JsonGenerator;
import io.pipelane.protocol.grpc.InferParameter;
import java.io.IOException;

/** A parameter that every request carries beside its tensors, for the server to make sense of. */
public record RequestParameter(String name, Type type, String value) {
  /** Asks for binary outputs over HTTP; the encoder's own. */
  static final String BINARY_OUTPUT = "binary_data_output";

  /** The type of a value. */
  public enum Type {
    BOOL,
    INT,
    STRING
  }

  public RequestParameter {
    if (name.isBlank() || name.equals(BINARY_OUTPUT)) {
      throw new IllegalArgumentException("a request's parameter cannot be called \"" + name + '"');
    }
    switch (type) {
      case BOOL -> {
        if (!value.equals("true") && !value.equals("false")) {
          throw new IllegalArgumentException(name + " is true or false, not \"" + value + '"');
        }
      }
      case INT -> {
        if (!value.matches("-?\\d{1,18}")) {
          throw new IllegalArgumentException(
              name + " is a whole number of up to 18 digits, not \"" + value + '"');
        }
      }
      case STRING -> {}
    }
  }

  void write(JsonGenerator json) throws IOException {
    switch (type) {
      case BOOL -> json.writeBooleanField(name, Boolean.parseBoolean(value));
      case INT -> json.writeNumberField(name, Long.parseLong(value));
      case STRING -> json.writeStringField(name, value);
    }
  }

  InferParameter message() {
    InferParameter.Builder message = InferParameter.newBuilder();
    return switch (type) {
      case BOOL -> message.setBoolParam(Boolean.parseBoolean(value)).build();
      case INT -> message.setInt64Param(Long.parseLong(value)).build();
      case STRING -> message.setStringParam(value).build();
    };
  }
}
