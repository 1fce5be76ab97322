package io.pipelane.loadgen.request;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.loadgen.settings.Response;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;

/** A reader of answers in the protocol's JSON, with tensors in it or as bytes behind it. */
final class HttpAnswers implements ExpectedOutputs.Reader {
  private final ObjectMapper json = new ObjectMapper();

  @Override
  public Map<String, ByteBuffer> outputs(Response response) throws IOException {
    ByteBuffer body = response.body().duplicate().order(ByteOrder.LITTLE_ENDIAN);
    int jsonBytes = response.jsonBytes() < 0 ? body.remaining() : response.jsonBytes();
    byte[] head = new byte[Math.min(jsonBytes, body.remaining())];
    body.get(head);
    Map<String, ByteBuffer> outputs = new HashMap<>();
    for (JsonNode output : json.readTree(head).path("outputs")) {
      JsonNode size = output.path("parameters").path("binary_data_size");
      ByteBuffer data;
      if (size.isNumber()) {
        if (size.asInt() < 0 || size.asInt() > body.remaining()) {
          throw new IllegalArgumentException("fewer bytes came than were announced");
        }
        data = body.slice(body.position(), size.asInt()).order(ByteOrder.LITTLE_ENDIAN);
        body.position(body.position() + size.asInt());
      } else {
        data =
            JsonElements.read(
                output.path("data"), Datatype.valueOf(output.path("datatype").asText()));
      }
      outputs.put(output.path("name").asText(), data);
    }
    return outputs;
  }
}
