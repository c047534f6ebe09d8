# The OmniAuth strategy of GitLab, and of Zammad in a later version, in a small Rack program. This version knows no PKCE. Prints
# its address, then serves until standard input ends.
require "json"
require "omniauth"
require "omniauth_openid_connect"
require "rack"
require "rack/session/cookie"
require "webrick"
handler = begin
  require "rackup/handler/webrick"
  Rackup::Handler::WEBrick
rescue LoadError
  require "rack/handler/webrick"
  Rack::Handler::WEBrick
end

issuer, port = URI(ENV.fetch("ISSUER")), ENV.fetch("PORT").to_i
here = "http://127.0.0.1:#{port}"
# These libraries want HTTPS, except where they are told otherwise; tests use plain HTTP on the loopback address.
[SWD, WebFinger].each { |library| library.url_builder = URI::HTTP }
OpenIDConnect::Discovery::Provider::Config::Resource.prepend(Module.new { def endpoint = URI::HTTP.build(host:, port:, path:) })
# The button is a link; GitLab and Zammad post a form with a token against forgery.
OmniAuth.config.allowed_request_methods = [:get, :post]
OmniAuth.config.silence_get_warning = true
OmniAuth.config.logger = Logger.new(IO::NULL)

app = Rack::Builder.new do
  use Rack::Session::Cookie, secret: "the cookies of a test, which must have sixty-four characters or more"
  use OmniAuth::Builder do
    provider :openid_connect,
             name: :openid_connect, issuer: issuer.to_s, discovery: true, scope: %i[openid profile email groups],
             uid_field: "sub", client_auth_method: :basic,
             post_logout_redirect_uri: "#{here}/bye",
             client_options: { identifier: ENV.fetch("CLIENT_ID"), secret: ENV.fetch("CLIENT_SECRET"), redirect_uri: "#{here}/auth/openid_connect/callback" }
  end
  json = ->(value) { [200, { "content-type" => "application/json" }, [value.to_json]] }
  map("/auth/openid_connect/callback") { run ->(env) { json.(env["omniauth.auth"].slice("uid", "info", "extra", "credentials")) } }
  map("/auth/failure") { run ->(env) { json.(failure: env["QUERY_STRING"]) } }
  run ->(_) { json.(bye: true) }
end

quiet = { Logger: WEBrick::Log.new(IO::NULL), AccessLog: [] }
handler.run(app.to_app, Host: "127.0.0.1", Port: port, **quiet) do |server|
  puts({ address: here }.to_json)
  $stdout.flush
  Thread.new { $stdin.read; server.shutdown }
end
