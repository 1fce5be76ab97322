package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.Route;
import io.pipelane.server.net.Backend;
import io.pipelane.server.observability.LogSetting;
import io.pipelane.server.observability.LogSettings;
import io.pipelane.server.observability.TraceSettings;
import io.pipelane.server.protocol.LogSettingForm;
import io.pipelane.server.protocol.SettingsJson;
import io.pipelane.server.protocol.TraceSettingForm;
import org.jspecify.annotations.Nullable;

/** The handler of the trace and logging extensions' routes. Safe for any event loop. */
public final class SettingsApi {
  private final Backend backend;

  SettingsApi(Backend backend) {
    this.backend = backend;
  }

  /**
   * Answers one of these routes.
   *
   * @throws StatusException when something cannot be set
   */
  void answer(Exchange exchange, Route.OfSettings route, ByteBuf body) {
    TraceSettings tracing = backend.observation().tracing();
    LogSettings logging = backend.observation().logging();
    switch (route) {
      case Route.TraceSettings(String model) -> answerTracing(exchange, tracing, known(model));
      case Route.ChangeTraceSettings(String model) -> {
        TraceSettingForm.change(tracing, known(model), SettingsJson.texts(body));
        ManagementLog.tell(exchange.caller(), ManagementLog.traceSettings(model));
        answerTracing(exchange, tracing, model);
      }
      case Route.LogSettings _ -> answerLogging(exchange, logging);
      case Route.ChangeLogSettings _ -> {
        LogSetting changed = LogSettingForm.change(logging.setting(), SettingsJson.values(body));
        ManagementLog.tell(exchange.caller(), ManagementLog.LOG_SETTINGS); // While it is heard.
        logging.set(changed);
        answerLogging(exchange, logging);
      }
    }
  }

  /** A model that can be asked, by its name; null stands for all. */
  private @Nullable String known(@Nullable String model) {
    return model == null ? null : backend.resolve(model, "").version().model();
  }

  private static void answerTracing(
      Exchange exchange, TraceSettings settings, @Nullable String model) {
    exchange.answer(
        Response.ok(
            exchange.allocator(),
            target -> SettingsJson.writeTexts(target, TraceSettingForm.describe(settings, model))));
  }

  private static void answerLogging(Exchange exchange, LogSettings settings) {
    exchange.answer(
        Response.ok(
            exchange.allocator(),
            target ->
                SettingsJson.writeValues(target, LogSettingForm.describe(settings.setting()))));
  }
}
