// The parser: toml++, kept behind plain.h. Compiled without exceptions.
#include "toml/plain.h"

#include <charconv>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>

#define TOML_EXCEPTIONS                 0
#define TOML_ENABLE_WINDOWS_COMPAT      0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#define TOML_MAX_NESTED_VALUES          64 // more than toml_parse lets through
#include <toml++/toml.h>

namespace
{

class walk
{
      public:
	walk(const toml_sink *sink, void *arg, unsigned depth)
	    : sink_(sink), arg_(arg), depth_(depth)
	{
	}

	bool value(const std::string_view *key, const toml::node &n)
	{
		const toml_place at = {
			key ? key->data() : nullptr, key ? key->size() : 0, n.source().begin.line};

		switch (n.type()) {
		case toml::node_type::table:
			return table(at, *n.as_table());
		case toml::node_type::array:
			return array(at, *n.as_array());
		case toml::node_type::string:
			text(at, n.as_string()->get());
			break;
		case toml::node_type::integer:
			integer(at, n.as_integer()->get());
			break;
		case toml::node_type::floating_point:
			floating(at, n.as_floating_point()->get());
			break;
		case toml::node_type::boolean:
			sink_->boolean(arg_, &at, n.as_boolean()->get());
			break;
		case toml::node_type::date:
			moment(at, n.as_date()->get());
			break;
		case toml::node_type::time:
			moment(at, n.as_time()->get());
			break;
		case toml::node_type::date_time:
			moment(at, n.as_date_time()->get());
			break;
		case toml::node_type::none:
			break;
		}
		return true;
	}

      private:
	bool table(const toml_place &at, const toml::table &t)
	{
		if (depth_ == 0)
			return false;
		depth_--;
		sink_->open(arg_, &at, true);
		for (const auto &[k, v] : t) {
			const std::string_view name = k.str();

			if (!value(&name, v))
				return false;
		}
		sink_->close(arg_);
		depth_++;
		return true;
	}

	bool array(const toml_place &at, const toml::array &a)
	{
		if (depth_ == 0)
			return false;
		depth_--;
		sink_->open(arg_, &at, false);
		for (const auto &v : a) {
			if (!value(nullptr, v))
				return false;
		}
		sink_->close(arg_);
		depth_++;
		return true;
	}

	void text(const toml_place &at, std::string_view s)
	{
		sink_->string(arg_, &at, s.data(), s.size());
	}

	void integer(const toml_place &at, int64_t n)
	{
		char digits[24]; // 20 and a sign
		const auto end = std::to_chars(digits, digits + sizeof(digits), n);

		sink_->number(arg_, &at, digits, static_cast<size_t>(end.ptr - digits));
	}

	void floating(const toml_place &at, double d)
	{
		char digits[64]; // the shortest that is read back as the same: at most 24

		if (!std::isfinite(d)) {
			text(at, std::isnan(d) ? "nan" : d > 0 ? "inf" : "-inf");
			return;
		}
		const auto end = std::to_chars(digits, digits + sizeof(digits), d);
		sink_->number(arg_, &at, digits, static_cast<size_t>(end.ptr - digits));
	}

	template <typename T> void moment(const toml_place &at, const T &m)
	{
		std::ostringstream out;

		out << m;
		text(at, out.str());
	}

	const toml_sink *sink_;
	void *arg_;
	unsigned depth_;
};

} // namespace

enum toml_plain toml_plain_parse(const char *p, size_t len, unsigned depth,
	const struct toml_sink *sink, void *arg, struct toml_fault *ret_fault)
{
	const toml::parse_result parsed = toml::parse(std::string_view(p, len));

	if (!parsed) {
		const toml::source_position at = parsed.error().source().begin;

		*ret_fault = {at.line, at.column};
		return TOML_PLAIN_SYNTAX;
	}
	return walk(sink, arg, depth).value(nullptr, parsed.table()) ? TOML_PLAIN_OK
								     : TOML_PLAIN_TOO_DEEP;
}
