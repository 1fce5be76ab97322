package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.codec.http.HttpMethod;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.Route;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ResourcePathsTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v2/models/a | GET, HEAD",
        "/v2/models/a/infer | POST",
        "/v2/trace/setting | GET, HEAD, POST",
        "/v2/logging | GET, HEAD, POST",
        "/v2/jobs | GET, HEAD, POST",
        "/v2/jobs/1 | GET, HEAD, DELETE",
        "/v2/repository/models/a/options | GET, HEAD, PUT",
        "/v2/repository/models/a/versions | GET, HEAD, POST",
        "/v2/repository/models/a/versions/1 | GET, HEAD, PUT, DELETE",
        "/v2/cudasharedmemory/status | GET, HEAD",
        "/v2/cudasharedmemory/region/r/register | POST"
      })
  void paths_areCalledWithWhatTheyAllow(String path, String allowed) {
    assertEquals(allowed, ResourcePaths.find(path).allowed());
  }

  @ParameterizedTest
  @CsvSource({
    "/v2/repository/r/index, /v2/repository/index",
    "/v2/repository/r/models/a/load, /v2/repository/models/a/load",
    "/v2/repository/models/models/a/unload, /v2/repository/models/a/unload"
  })
  void nameOfARepository_isToBeLeftOut(String path, String instead) {
    StatusException error = assertThrows(StatusException.class, () -> ResourcePaths.find(path));
    assertEquals(Status.NOT_FOUND, error.status());
    assertTrue(String.valueOf(error.getMessage()).endsWith(" " + instead), error.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v2/models | POST /v2/repository/index lists the models",
        "/v2/models?a=b | POST /v2/repository/index lists the models",
        "/v1/models/a:predict | POST /v2/models/{model}/infer",
        "/health | GET /v2 is the root",
      })
  void whatIsElsewhere_isNamed(String path, String elsewhere) {
    StatusException error = assertThrows(StatusException.class, () -> ResourcePaths.find(path));
    assertEquals(Status.NOT_FOUND, error.status());
    assertTrue(String.valueOf(error.getMessage()).endsWith(elsewhere), error.getMessage());
  }

  @Test
  void methods_askForRoutesOfTheirOwn() {
    Resource version = ResourcePaths.find("/v2/repository/models/a/versions/1?b=c");
    Route stored = new Route.StoredVersion("a", "1");
    assertEquals(Optional.of(stored), version.route(HttpMethod.GET));
    assertEquals(Optional.of(stored), version.route(HttpMethod.HEAD));
    assertEquals(Optional.of(new Route.Upload("a", "1")), version.route(HttpMethod.PUT));
    assertEquals(Optional.of(new Route.Delete("a", "1")), version.route(HttpMethod.DELETE));
    assertEquals(Optional.empty(), version.route(HttpMethod.POST));
  }

  @Test
  void head_isNotAskedWhereGetIsNot() {
    Resource infer = ResourcePaths.find("/v2/models/a/infer");
    assertEquals(Optional.empty(), infer.route(HttpMethod.HEAD));
    assertEquals(Optional.of(new Route.Infer("a", "")), infer.route(HttpMethod.POST));
  }
}
