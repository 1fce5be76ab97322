package io.pipelane.loadgen;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** What a {@link ScriptedServer} with one model says: metadata, no statistics, empty answers. */
final class StubModel {
  private static final String METADATA =
      """
      {"name":"m","platform":"x","inputs":[{"name":"ids","datatype":"INT64","shape":[-1,4]}],
       "outputs":[]}""";

  final AtomicInteger inferences = new AtomicInteger();

  Optional<String> serve(ScriptedServer.Request request) {
    if (request.startLine().contains("/stats")) {
      return ScriptedServer.answer(404, "", "{}");
    }
    if (request.startLine().startsWith("GET")) {
      return ScriptedServer.answer(200, "", METADATA);
    }
    inferences.incrementAndGet();
    return ScriptedServer.answer(200, "", "{}");
  }
}
